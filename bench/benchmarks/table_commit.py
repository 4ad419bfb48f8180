from harness.benchmark import OURS, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="table-commit",
    summary="a commit after 1 % of 20 M rows changed",
    unit="ms",
    per="commit",
    rows=20_000_000,
    sides=[Side("Catamaran", OURS, program="bench_table_commit")],
    cases=[
        Case("changed1%", "200,000 rows all over the table", rounds=3, figures=[
            Figure("share", "its time", "of a full commit", at_most=0.04),
            Figure("bytes_share", "its bytes", "of a full commit", at_most=0.04),
            Figure("full_seconds", "a full commit", "s"),
            Figure("gbs", "a full commit", "GB/s"),
            Figure("disk_gbs", "the disk alone", "GB/s"),
            Figure("lookup_alone", "2,000 keys looked up, quiet", "ms"),
            Figure("lookup_meanwhile", "2,000 keys looked up during a full commit", "ms"),
            Figure("lookup_ratio", "look-ups meanwhile", "times quiet ones", at_most=2),
        ]),
    ],
    notes="From the call until the commit is durable (files and directory synced). Look-ups are of "
          "power-law keys, one after another, while a full commit is written in the background. "
          "The disk alone: as many bytes as the full commit has, written to one file and synced.",
)
