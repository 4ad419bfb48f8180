from harness.benchmark import OURS, PEER, Benchmark, Case, Side

BENCHMARK = Benchmark(
    name="profile-cost",
    summary="the training step of mlp-step with a profile, beside the same step without one",
    unit="ms",
    per="step",
    sides=[
        Side("profiled", OURS, program="bench_mlp_step", args=["--profile"]),
        Side("not profiled", PEER, program="bench_mlp_step"),
    ],
    cases=[
        Case("batch1", "one example a step: the shortest ops", goals={"": 0.97}),
        Case("batch32", "32 examples a step", goals={"": 0.97}),
        Case("batch512", "512 examples a step", goals={"": 0.97}),
    ],
    check_tolerance=0.0,
    notes="Below 3 % is wanted. What profiling costs while it is off cannot be measured beside a "
          "program without it: the interpreter's loop is compiled once with the clock and once "
          "without, and a run that is not profiled asks for the profile a handful of times, "
          "however many ops it has.",
)
