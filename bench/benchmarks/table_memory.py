from harness.benchmark import OURS, Benchmark, Case, Figure, Side

SHARE = Figure("overhead_share", "beyond the row's own, at the worst point", "of it", at_most=0.2)
BYTES = Figure("overhead", "beyond the row's own, at the worst point", "bytes", at_most=20)
OTHERS = [
    Figure("needed", "key, embedding, slots and 12", "bytes"),
    Figure("final", "at the end of growth", "bytes"),
    Figure("worst_at", "the worst point", "M rows"),
]


def case(name, what, goal):
    return Case(name, what, rounds=1, figures=[goal] + OTHERS)


BENCHMARK = Benchmark(
    name="table-memory",
    summary="resident memory at the worst point of growth from 1 M to 20 M rows",
    unit="bytes",
    per="row",
    rows=20_000_000,
    sides=[Side("Catamaran", OURS, program="bench_table_memory")],
    cases=[
        case("w16", "16 floats, row-wise adagrad", SHARE),
        case("w16-bf16", "16 bf16, row-wise adagrad", SHARE),
        case("w16-adam", "16 floats, adam", SHARE),
        case("w64", "64 floats, row-wise adagrad", SHARE),
        case("w8", "8 floats, row-wise adagrad", BYTES),
        case("w1", "1 float, row-wise adagrad", BYTES),
    ],
    notes="Resident memory of the process that is no file's, less what it had before the table and "
          "what the caller's gradients take, over the rows, looked at after every 10,000 inserts, "
          "2,000 a step, from the millionth on: rows, index, sequence words, marks of what a "
          "commit has to save, scratch memory of the steps, and what is kept for the next rows. "
          "The row's own is its key, embedding, slots and 12 bytes of metadata.",
)
