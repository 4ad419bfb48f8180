from harness.benchmark import INFO, OURS, Benchmark, Case, Figure, Side
from harness.tables import HUGE_PAGES

BENCHMARK = Benchmark(
    name="table-grow",
    summary="inserts from an empty table to 20 M rows of 16 floats",
    unit="ns",
    per="insert",
    rows=20_000_000,
    sides=[
        Side("Catamaran", OURS, program="bench_table_grow"),
        Side("absl::flat_hash_map", INFO, program="bench_table_grow", args=["--map", "absl"],
             variables=HUGE_PAGES),
    ],
    cases=[
        Case("grow", "by steps of 2,000 new keys", rounds=3, figures=[
            Figure("longest_step", "longest step of 2,000 inserts", "ms"),
            Figure("longest_pause", "longest pause for growing", "ms"),
            Figure("final_bytes", "memory at the end", "bytes a row"),
            Figure("peak_over_final", "peak memory over final", "times", at_most=1.35),
        ]),
    ],
    notes="Each round fills a new table in a process of its own; memory is what the system counts "
          "as resident. An insert is a push for a key that has no row: the row is made, gets its "
          "gradient, and is marked for the next commit. absl's map grows without a reservation and "
          "holds key and embedding alone; when it grows, one insert waits for all rows to move.",
)
