from harness.benchmark import OURS, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="serve-while-learning",
    summary="latency of answers beside learning, by latency without",
    unit="times",
    per="99th percentile",
    sides=[Side("Catamaran", OURS, program="bench_serve_learning",
                args=["--what", "while-learning"])],
    cases=[
        Case("quarter-load", "a quarter of the maximum, while it learns as fast as it can",
             rounds=3, goal_seconds=2, figures=[
                 Figure("learning_share", "learning's rate beside it, of its rate alone", "times",
                        at_least=0.5),
                 Figure("p99_without", "99th percentile without learning", "ms"),
                 Figure("p99_with", "99th percentile with learning", "ms"),
                 Figure("p50_without", "median without learning", "ms"),
                 Figure("p50_with", "median with learning", "ms"),
                 Figure("load", "requests", "a second"),
                 Figure("learning_alone", "learning alone", "examples/s"),
                 Figure("learning_beside", "learning beside requests", "examples/s"),
             ]),
    ],
    notes="DeepFM, single rows over gRPC, 32 connections, due at fixed times: a quarter of the rate "
          "that they reach without a pause. Examples wait in the log, more than are learned from in "
          "the time. It counts only if learning, on its one thread, reaches half of what it does "
          "when nobody asks.",
)
