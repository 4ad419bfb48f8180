from harness.benchmark import LIMIT, OURS, Benchmark, Case, Derived, Side
from harness.tables import key_limit

GROWTH = 1.1
SMALL, LARGE = "uniform-2000-1x", "uniform-2000-5x"


def growth(seconds):
    return seconds[LARGE] / seconds[SMALL]


def as_the_memory(ours, limits):
    return GROWTH * growth(limits) / growth(ours)


def what(ours, limits):
    return (f"five times the rows: {growth(ours):.2f} times the time, the memory's own "
            f"{growth(limits):.2f}")


BENCHMARK = Benchmark(
    name="table-scale",
    summary="look-ups of rows of 8 floats, 20 M and 100 M of them",
    unit="ns",
    per="key",
    rows=20_000_000,
    sides=[
        Side("Catamaran", OURS, program="bench_table_lookup", args=["--width", "8"]),
        Side("limit", LIMIT, program="bench_table_limit", args=["--work", "lookup", "--width", "8"]),
    ],
    cases=[
        Case(SMALL, "20 M rows, batches of 2,000, all keys alike"),
        Case(LARGE, "100 M rows"),
    ],
    derived=[Derived("growth", as_the_memory, what)],
    limit=key_limit,
    notes="The machine limit is that of table-lookup, with one line a row. The cost of a look-up "
          "may grow as much as the limit does, and a tenth. With less than 16 GB of free memory "
          "the larger table is left out.",
)
