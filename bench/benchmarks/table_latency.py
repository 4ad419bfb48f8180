from harness.benchmark import OURS, Benchmark, Case, Figure, Side

FIGURES = [
    Figure("median", "median", "ms"),
    Figure("p999", "99.9th percentile", "ms"),
    Figure("longest", "longest", "ms"),
    Figure("train_alone", "training alone", "M keys/s"),
    Figure("train_share", "training meanwhile", "of alone", at_least=0.5),
    Figure("commits", "commits that finished", "", at_least=2),
    Figure("commit_seconds", "the longest of them", "s"),
    Figure("expiry_passes", "expiry passes that finished", "", at_least=1),
    Figure("expiry_seconds", "its time", "s"),
]

BENCHMARK = Benchmark(
    name="table-latency",
    summary="2,000-key look-ups of 20 M rows beside training, commits and expiry, 99th percentile",
    unit="ms",
    per="look-up",
    rows=20_000_000,
    sides=[Side("Catamaran", OURS, program="bench_table_latency")],
    cases=[
        Case("power", "power-law keys (1.2)", rounds=3, goal_seconds=0.0002, figures=FIGURES),
        Case("uniform", "all keys alike", rounds=3, goal_seconds=0.0004, figures=FIGURES),
    ],
    notes="One thread asks for 2,000 keys a thousand times a second; what counts is the time from "
          "the call to the answer. One thread pushes gradients for 2,000 keys of the same "
          "distribution, step after step, and gives way as the learner of a server does. Commits "
          "of what changed follow one another, half a second apart, to a disk; a hundredth of the "
          "rows is long unseen and goes. A round is valid if training keeps half of the rate that "
          "it has alone, two commits become durable and a whole pass of expiry is over: the lines "
          "below the percentiles.",
)
