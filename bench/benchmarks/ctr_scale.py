from harness.benchmark import OURS, PEER, Benchmark, Case, Side

BENCHMARK = Benchmark(
    name="ctr-scale",
    summary="ctr-train on two threads, beside one",
    unit="us",
    per="sample",
    sides=[
        Side("two threads", OURS, program="bench_ctr_train", args=["--threads", "2"]),
        Side("one thread", PEER, program="bench_ctr_train", args=["--threads", "1"]),
    ],
    cases=[
        Case("batch2048", "2,048 rows a step", goals={"": 1.7}),
        Case("batch8192", "8,192 rows a step", goals={"": 1.7}),
    ],
    check_tolerance=0.001,
    notes="Rows are read by the thread that trains; what is shared is the step: products, look-ups, "
          "pushes and everything between them. It needs two cores that do nothing else.",
)
