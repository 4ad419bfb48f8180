from harness.benchmark import OURS, PEER, Benchmark, Case, Side

BENCHMARK = Benchmark(
    name="lenet-train",
    summary="one training step of LeNet-5 on images of 28 x 28, with Adam",
    unit="ms",
    per="step",
    sides=[
        Side("Catamaran", OURS, program="bench_lenet_train"),
        Side("PyTorch eager", PEER, script="lenet_torch.py", args=["--mode", "eager"]),
        Side("PyTorch compiled", PEER, script="lenet_torch.py", args=["--mode", "compile"]),
        Side("TensorFlow", PEER, script="lenet_tensorflow.py", args=["--mode", "graph"],
             environment=".venv-tensorflow"),
        Side("TensorFlow XLA", PEER, script="lenet_tensorflow.py", args=["--mode", "xla"],
             environment=".venv-tensorflow"),
        Side("PaddlePaddle", PEER, script="lenet_paddle.py", environment=".venv-paddle"),
    ],
    cases=[Case("batch64", "64 images a step", goals={"": 1.15})],
    check_tolerance=0.01,
    notes="Two convolutions of 5 x 5 (6 and 16 filters) with max pooling, then 120-84-10; relu, f32. "
          "All sides begin each round with the same weights and see the same batches; the first 8 "
          "losses are compared before anything is measured. PyTorch uses its fused Adam; TensorFlow "
          "runs the whole step as one graph, its images with channels last.",
)
