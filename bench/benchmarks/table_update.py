from harness.benchmark import LIMIT, OURS, PEER, Benchmark, Case, Side
from harness.tables import HUGE_PAGES, key_limit

BENCHMARK = Benchmark(
    name="table-update",
    summary="gradients for rows of 16 floats by 64-bit keys, 20 M of them, row-wise adagrad",
    unit="ns",
    per="key",
    rows=20_000_000,
    sides=[
        Side("Catamaran", OURS, program="bench_table_update"),
        Side("PyTorch sparse Adagrad", PEER, script="table_torch.py", args=["--mode", "update"],
             variables=HUGE_PAGES),
        Side("limit", LIMIT, program="bench_table_limit", args=["--work", "update"]),
    ],
    cases=[
        Case("uniform-2000", "pushes of 2,000 keys, all alike", goals={"": 3}, limit_goal=0.55),
        Case("uniform-50000", "pushes of 50,000", goals={"": 3}, limit_goal=0.55),
        Case("power-2000", "power-law keys (1.2)", goals={"": 2}, limit_goal=0.55),
        Case("power-50000", "the same, pushes of 50,000", goals={"": 2}, limit_goal=0.55),
    ],
    limit=key_limit,
    notes="A key is an occurrence: equal keys of a push are summed before the row is updated, on "
          "both sides. Ours also counts shows and the time of each key and marks what a commit has "
          "to save. PyTorch's Adagrad keeps one accumulator for each number, has no keys (it is "
          "given places in an array) and gets the batch as a sparse gradient that it coalesces. "
          "The machine limit reads and writes given lines at random, two of a row (64 bytes, slot "
          "and sequence word), and reads one of an index, as in table-lookup; it reads no "
          "gradients and sums no equal keys.",
)
