from harness.benchmark import OURS, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="soak",
    summary="a service that learns, among good and hostile clients, kills and a full disk",
    unit="ms",
    per="answer, 99th percentile",
    sides=[Side("Catamaran", OURS, program="bench_serve_learning", args=["--what", "soak"])],
    minutes=30,
    cases=[
        Case("mixed", "latency of the good clients, and the ledger", rounds=1, figures=[
            Figure("p50", "median", "ms"),
            Figure("worst_minute", "99th percentile of the worst minute", "ms"),
            Figure("answers", "answers to good clients", ""),
            Figure("acknowledged", "examples and clicks acknowledged", ""),
            Figure("lost", "of those and of rows shown: lost", "", at_most=0, required=True),
            Figure("twice", "learned twice", "", at_most=0, required=True),
            Figure("hostile", "hostile examples learned", "", at_most=0, required=True),
            Figure("unacknowledged", "good calls never acknowledged", "", at_most=0,
                   required=True),
            Figure("good_refused", "good calls refused", "", at_most=0, required=True),
            Figure("wrong", "wrong answers to hostile calls", "", at_most=0, required=True),
            Figure("differ", "differences of status, log, restart and replay", "", at_most=0,
                   required=True),
            Figure("refused_steps", "steps refused", "", at_most=0),
            Figure("attacks", "attacks", ""),
            Figure("kills", "kills", ""),
            Figure("memory_growth", "growth of resident memory", "percent", at_most=20),
            Figure("memory_bytes", "resident memory", "bytes"),
            Figure("descriptors_growth", "growth of descriptors", "", at_most=16),
            Figure("threads_growth", "growth of threads", "", at_most=4),
        ]),
    ],
    notes="`catamaran serve --learn` on examples/feed.ctm. Four good clients, two over HTTP and two "
          "over gRPC, ask 80 times a second together, report clicks and send examples. Three "
          "hostile ones run through fourteen kinds of attack, and 64 slow connections are held open. "
          "In the first half the server is killed four times and has no room for its files for a "
          "while; memory, descriptors and threads are those of the second half, its first quarter "
          "beside its last. Then it is killed once more, and its log is read and replayed.",
)
