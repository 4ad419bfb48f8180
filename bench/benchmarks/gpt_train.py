from harness.benchmark import OURS, PEER, Benchmark, Case, Side

BENCHMARK = Benchmark(
    name="gpt-train",
    summary="one training step of a character transformer (4 layers, width 256, context 128)",
    unit="ms",
    per="step",
    sides=[
        Side("Catamaran", OURS, program="bench_gpt_train"),
        Side("PyTorch eager", PEER, script="gpt_torch.py", args=["--mode", "eager"]),
        Side("PyTorch compiled", PEER, script="gpt_torch.py", args=["--mode", "compile"]),
    ],
    cases=[Case("batch16", "16 texts of 128 letters a step", goals={"": 1.0})],
    check_tolerance=0.01,
    notes="Pre-norm blocks with 4 heads and gelu, 65 letters, AdamW, f32, no dropout. All sides begin "
          "each round with the same weights and see the same batches; the first 8 losses are compared "
          "before anything is measured. PyTorch uses its fused AdamW and "
          "scaled_dot_product_attention.",
)
