from harness.benchmark import LIMIT, OURS, PEER, Benchmark, Case, Side, fastest_parts

BENCHMARK = Benchmark(
    name="mlp-step",
    summary="one training step of a 784-512-512-10 network with Adam",
    unit="ms",
    per="step",
    sides=[
        Side("Catamaran", OURS, program="bench_mlp_step"),
        Side("PyTorch eager", PEER, script="mlp_step_torch.py", args=["--mode", "eager"]),
        Side("PyTorch compiled", PEER, script="mlp_step_torch.py", args=["--mode", "compile"]),
        Side("limit, oneDNN", LIMIT, program="bench_mlp_step", args=["--gemm", "onednn"]),
        Side("limit, OpenBLAS", LIMIT, program="bench_mlp_step", args=["--gemm", "openblas"]),
        Side("limit, PyTorch", LIMIT, script="mlp_step_torch.py", args=["--mode", "gemm"]),
    ],
    cases=[
        Case("batch1", "one example a step", goals={"": 1.3}),
        Case("batch32", "32 examples a step", goals={"": 1.15}),
        Case("batch512", "512 examples a step", goals={"": 1.0}),
    ],
    check_tolerance=0.01,
    limit=fastest_parts,
    notes="Relu, softmax cross entropy, f32. All sides begin each round with the same weights "
          "and zeroed Adam slots and see the same batches; the losses of the first 8 steps are "
          "compared before anything is measured. PyTorch uses its fused Adam; compiled means "
          "torch.compile of the model with its loss. The machine limit is the time of the step's "
          "eight matrix products, each by the fastest of oneDNN, OpenBLAS and PyTorch's library, "
          "and of reading and writing what Adam must read and write.",
)
