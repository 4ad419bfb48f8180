from harness.benchmark import OURS, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="table-restore",
    summary="a committed table of 20 M rows, until a look-up is answered",
    unit="ms",
    per="restore",
    rows=20_000_000,
    sides=[Side("Catamaran", OURS, program="bench_table_restore")],
    cases=[
        Case("cold-cache", "files that the system does not hold in memory", rounds=3, figures=[
            Figure("opened", "until every key resolves", "ms"),
            Figure("moved", "until all rows have moved into memory", "s"),
            Figure("moved_gbs", "the same", "GB/s"),
            Figure("all_gbs", "loaded and verified at once", "GB/s"),
            Figure("disk_gbs", "the disk alone, read front to back", "GB/s"),
            Figure("disk_share", "loaded at once", "of the disk's rate"),
        ]),
    ],
    notes="The state is opened with its rows in mapped files; the figure is the time until 2,000 "
          "keys at random are answered, each from a page that comes from the disk. The rest then "
          "moves into memory. All files are dropped from the system's cache before.",
)
