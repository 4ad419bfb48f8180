from harness.benchmark import OURS, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="freshness",
    summary="feedback that was acknowledged, until the model that answers knows of it",
    unit="ms",
    per="click, 99th percentile",
    sides=[Side("Catamaran", OURS, program="bench_serve_learning", args=["--what", "freshness"])],
    cases=[
        Case("loaded", "400 clicks a second, others ask at a quarter of the maximum", rounds=3,
             goal_seconds=0.2, figures=[
                 Figure("p50", "median", "ms"),
                 Figure("clicks", "clicks", "a second"),
                 Figure("load", "others' requests", "a second"),
                 Figure("load_p99", "others' 99th percentile", "ms"),
             ]),
    ],
    notes="DeepFM, single rows over gRPC, 32 connections with a quarter of the rate that they reach "
          "without a pause; four more callers are each shown a row and click on it, a hundred times "
          "a second. As the service measures it: from when a click's sync was done until the step "
          "that has it is published, with the settings that it has by itself (a batch waits 20 ms).",
)
