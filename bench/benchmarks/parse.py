from harness.benchmark import OURS, Benchmark, Case, Derived, Side

OPS = {"10k": 1e4, "100k": 1e5, "1m": 1e6}
GROWTH = 1.5


def linear(ours, _):
    return GROWTH * (ours["100k"] / OPS["100k"]) / (ours["1m"] / OPS["1m"])


def time_an_op(ours, _):
    figures = ", ".join(f"{ours[case] / ops * 1e9:.0f} ({case})" for case, ops in OPS.items())
    return f"ns an op: {figures}"


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
    derived=[Derived("linear", linear, time_an_op)],
    notes="Half of the ops stand in one function, half in functions of 1,000 ops that it calls. "
          "Linear means that ten times as many ops (100k to 1m; both are larger than the caches, "
          "10k is not) take at most 15 times as long; its ratio is 15 over what was measured.",
)
