from harness.benchmark import OURS, PEER, Benchmark, Case, Figure, Side

BENCHMARK = Benchmark(
    name="table-cold",
    summary="look-ups of 8 M rows of 16 floats, of which a quarter fits into the memory allowed",
    unit="ns",
    per="key",
    rows=8_000_000,
    sides=[
        Side("Catamaran", OURS, program="bench_table_cold"),
        Side("RocksDB MultiGet", PEER, program="bench_table_cold", args=["--peer"]),
    ],
    cases=[
        Case("power-2000", "power-law keys (1.2), 2,000 a look-up", rounds=5, figures=[
            Figure("rate", "rate", "M keys/s"),
            Figure("median", "median of look-ups", "ms"),
            Figure("p99", "99th percentile of look-ups", "ms"),
            Figure("read", "read from the disk for a key", "B"),
        ]),
    ],
    check_tolerance=1e-5,
    notes="Keys are drawn anew for each round. Both sides begin with the rows in memory that are asked "
          "for most, read past the system's page cache, and share the rows of a look-up that are not "
          "in memory among 4 threads (this RocksDB is built without io_uring: one thread reads one "
          "block after another). Ours holds rows with their slot and counters, in memory and in "
          "RocksDB; RocksDB alone holds the embeddings, in files that were compacted, with bloom "
          "filters, no compression, almost all of its budget as a cache of rows, and gets the keys of "
          "a look-up sorted. Filters and indexes count as memory on both sides.",
)
