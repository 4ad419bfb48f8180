import json
import os
import tempfile

from harness.benchmark import OURS, PEER, Benchmark, Case, Median, Side
from kernel_cases import FAMILIES, cases


def write_cases():
    """The programs for our side, as a file."""
    path = os.path.join(tempfile.mkdtemp(prefix="catamaran-bench-"), "kernels.json")
    with open(path, "w") as out:
        json.dump({c.name: c.as_json() for c in cases()}, out)
    return ["--cases", path]


BENCHMARK = Benchmark(
    name="kernels",
    summary="one op, or one op and its gradient, at a dozen shapes a family",
    unit="us",
    per="call",
    sides=[
        Side("Catamaran", OURS, program="bench_kernels", args=write_cases),
        Side("PyTorch", PEER, script="kernels_torch.py"),
    ],
    cases=[Case(c.name, c.torch) for c in cases()],
    medians=[Median("all", "", 1.0)] + [Median(name, name + "/", goal)
                                        for name, goal in FAMILIES.items()],
    check_tolerance=5e-3,
    notes="Each case is one line of our language and one line of PyTorch (bench/kernel_cases.py) on "
          "the same numbers. Ours is a compiled program that is run with the caller's buffers for "
          "results; PyTorch runs eagerly, forward cases in inference mode, with outputs that it "
          "allocates as its users have it. Gradients: both sides weight the result with a given "
          "tensor, sum it and differentiate that. Optimizers: PyTorch's best of fused and "
          "foreach.",
)
