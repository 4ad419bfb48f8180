from harness.benchmark import INFO, OURS, PEER, Benchmark, Case, Side

BENCHMARK = Benchmark(
    name="op-overhead",
    summary="1,000 dependent small ops that cannot be fused, whole time an op",
    unit="ns",
    per="op",
    sides=[
        Side("Catamaran", OURS, program="bench_op_overhead"),
        Side("kernel alone", INFO, program="bench_op_overhead", args=["--kernel-alone"]),
        Side("PyTorch eager", PEER, script="op_overhead_torch.py"),
        Side("ONNX Runtime", PEER, script="op_overhead_onnxruntime.py"),
    ],
    cases=[
        Case("softmax16", "softmax of a vector of 16 floats, 1,000 times in a row",
             goals={"PyTorch eager": 12, "ONNX Runtime": 3}),
    ],
    check_tolerance=1e-4,
    notes="Every result is a reduction over the whole result before it, so no side can fuse or "
          "fold the chain (ONNX Runtime's optimised graph is checked to have 1,000 nodes). For both "
          "peers softmax costs about as much as an elementwise add of the same size, and less "
          "than a product with a 16 x 16 matrix. PyTorch runs the Python loop that "
          "its users write, in inference mode; ONNX Runtime runs one graph with bound inputs and "
          "outputs and all optimisations. `kernel alone` calls our vector code directly.",
)
