from harness.benchmark import OURS, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="restart",
    summary="a service that learns, killed at work: until it answers again",
    unit="s",
    per="restart",
    rows=10_000_000,
    sides=[Side("Catamaran", OURS, program="bench_serve_learning", args=["--what", "restart"])],
    cases=[
        Case("killed", "SIGKILL, and started again at once", rounds=3, goal_seconds=5, figures=[
            Figure("ready", "until it says that it is ready", "s"),
            Figure("steps_again", "steps behind the last commit, learned anew", "steps"),
        ]),
    ],
    notes="DeepFM with a table of 10 M rows (17 numbers and as many slots each) learns from 64 "
          "examples every 50 ms for 8 seconds, is killed, and is started with the same command. It "
          "counts from the kill until a request is answered; then all examples that were "
          "acknowledged must be there. The system still holds files in memory, as after a crash of a "
          "process.",
)
