from harness.benchmark import INFO, LIMIT, OURS, PEER, Benchmark, Case, Figure, Side
from harness.tables import HUGE_PAGES, key_limit

ORIENTATION = ["EmbeddingBag", "Redis MGET"]
ROUNDS = 41  # others use the machine's memory for seconds at a time, and one caller feels it
GOALS = {"goals": {"": 1.5}, "limit_goal": 0.65, "rounds": ROUNDS}

BENCHMARK = Benchmark(
    name="table-lookup",
    summary="rows of 16 floats by 64-bit keys, 20 M of them",
    unit="ns",
    per="key",
    rows=20_000_000,
    sides=[
        Side("Catamaran", OURS, program="bench_table_lookup"),
        Side("absl::flat_hash_map", PEER, program="bench_table_maps", args=["--map", "absl"],
             variables=HUGE_PAGES),
        Side("absl, not asked ahead", INFO, program="bench_table_maps",
             args=["--map", "absl", "--ahead", "no"], variables=HUGE_PAGES),
        Side("libcuckoo", PEER, program="bench_table_maps", args=["--map", "cuckoo"],
             variables=HUGE_PAGES),
        Side("std::unordered_map", PEER, program="bench_table_maps", args=["--map", "std"],
             variables=HUGE_PAGES),
        Side("EmbeddingBag", INFO, script="table_torch.py", args=["--mode", "lookup"],
             variables=HUGE_PAGES),
        Side("Redis MGET", INFO, script="table_redis.py"),
        Side("limit", LIMIT, program="bench_table_limit", args=["--work", "lookup"]),
    ],
    cases=[
        Case("uniform-2000", "batches of 2,000, all keys alike", **GOALS),
        Case("uniform-50000", "batches of 50,000", **GOALS),
        Case("power-2000", "power-law keys (1.2)", **GOALS),
        Case("power-50000", "the same, batches of 50,000", **GOALS),
        Case("uniform-50000-two", "two callers at once, each its own batches", skip=ORIENTATION,
             rounds=ROUNDS,
             figures=[Figure("scaling", "two callers", "times one", at_least=1.8)]),
    ],
    check_tolerance=1e-5,
    limit=key_limit,
    notes="Every side holds the same rows and is asked for the same keys; sums of what they answer "
          "are compared. Ours holds 92 bytes a row (key, counters, sequence word, embedding and the "
          "slot of row-wise adagrad) and reads them safely beside a writer; the maps hold key and "
          "embedding and are read without protection, but for libcuckoo. Maps have room for all "
          "rows reserved, their memory in huge pages. absl's can be asked ahead for keys, and is, "
          "at the best of eight distances, found in each case; beside it is the same map with "
          "look-ups alone. The machine limit is a gather of given lines at random, one of an "
          "index with a line for 8 rows, and two of a row (64 bytes and a sequence word), copied "
          "to the caller, asking ahead at the best of nine distances, in the first or the second "
          "level of cache. Two callers are compared with the first of them alone, right before and "
          "after. EmbeddingBag has no keys: it is given places in an array. Redis answers over a "
          "Unix socket.",
)
