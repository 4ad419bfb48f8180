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
        ]),
    ],
    check_tolerance=1e-5,
    notes="Both read past the system's page cache, so that the budget is all the memory they have. "
          "Ours holds rows with their slot and counters in memory and in RocksDB; RocksDB alone "
          "holds the embeddings, with bloom filters, no compression, three quarters of the budget "
          "as a cache of rows and one as a cache of blocks, and gets the keys of a look-up sorted.",
)
