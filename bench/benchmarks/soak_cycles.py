from harness.benchmark import OURS, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="soak-cycles",
    summary="memory and disk of a service that learns, over three cycles of everything that it drops",
    unit="percent",
    per="growth",
    sides=[Side("Catamaran", OURS, program="bench_serve_learning",
                args=["--what", "soak-cycles"])],
    minutes=3,
    cases=[
        Case("three-cycles", "memory or disk, whichever grew more", rounds=1, goal_seconds=5,
             figures=[
                 Figure("memory", "resident memory", "percent", at_most=5),
                 Figure("disk", "disk", "percent", at_most=5),
                 Figure("memory_bytes", "resident memory at the end", "bytes"),
                 Figure("disk_bytes", "disk at the end", "bytes"),
                 Figure("examples", "examples", "examples"),
                 Figure("commits", "commits", "commits"),
             ]),
    ],
    notes="The clock is that of the events, which runs as fast as they are learned from. In a cycle "
          "(ten of its minutes) rows that are not seen again expire, keys of requests are forgotten, "
          "the log is dropped up to where it is needed, and thirty commits are made and compacted. "
          "Two cycles fill everything; then three follow. Growth is that of the cycle with the "
          "largest mean over the one with the smallest. --minutes says about how long all of it "
          "takes (3).",
)
