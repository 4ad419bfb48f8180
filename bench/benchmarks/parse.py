from harness.benchmark import OURS, Benchmark, Case, Derived, Side

BENCHMARK = Benchmark(
    name="parse",
    summary="a program's text parsed, flattened, typed and verified",
    unit="ms",
    per="program",
    sides=[Side("Catamaran", OURS, program="bench_parse")],
    cases=[
        Case("10k", "10,000 ops", goal_seconds=0.1),
        Case("100k", "100,000 ops", goal_seconds=1.0, rounds=5),
        Case("1m", "1,000,000 ops", goal_seconds=10.0, rounds=3),
    ],
    derived=[
        Derived("linear", "time an op with 10,000 ops / with 1,000,000",
                lambda ours: (ours["10k"] / 1e4) / (ours["1m"] / 1e6)),
    ],
    notes="Half of the ops stand in one function, half in functions of 1,000 ops that it calls.",
)
