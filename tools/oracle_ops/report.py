"""What tools/oracle prints, and the page that it writes."""

import datetime

import numpy
import torch


def worst(op, floats, kind):
    value = op.worst.get((floats, kind))
    return "-" if value is None else "0" if value == 0 else f"{value:.1e}"


def text(outcome):
    lines = []
    for op in outcome.ops:
        lines += op.differences[:5]
        if len(op.differences) > 5:
            lines.append(f"{op.name}: {len(op.differences) - 5} more")
    for op in outcome.ops:
        lines += [f"{op.name}: the other side refuses some: {reason}" for reason in op.reasons]
    calls = sum(o.samples + o.randoms for o in outcome.ops)
    lines.append(f"{len(outcome.ops)} ops compared in {calls} calls each in f64 and f32, "
                 f"{len(outcome.differences)} differences; "
                 f"{len(outcome.without)} not compared for a reason")
    if outcome.missing:
        lines.append("without an oracle: " + ", ".join(outcome.missing))
    return "\n".join(lines)


def markdown(outcome, options):
    calls = sum(o.samples + o.randoms for o in outcome.ops)
    lines = [
        "# The ops against another system", "",
        f"`tools/oracle --random {options.random} --seed {options.seed}` on "
        f"{datetime.date.today().isoformat()}, against PyTorch {torch.__version__} and NumPy "
        f"{numpy.__version__}: {len(outcome.ops)} ops in {calls} calls (each in f64 and f32, samples "
        f"and random inputs of the same shapes), {len(outcome.differences)} differences. An error is "
        "the largest difference in a call, relative to the largest result or 1.", "",
        "| op | samples | random | refused there | f64 | f32 | gradient f64 | gradient f32 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for op in sorted(outcome.ops, key=lambda o: (o.group, o.name)):
        lines.append(f"| {op.name} | {op.samples} | {op.randoms} | {op.refused or ''} | "
                     + " | ".join(worst(op, floats, kind) for kind in ("result", "gradient")
                                  for floats in ("f64", "f32")) + " |")
    if outcome.differences:
        lines += ["", "## Differences", ""] + [f"- {d}" for d in outcome.differences]
    if outcome.without or outcome.missing:
        lines += ["", "## Not compared", ""]
        lines += [f"- {name}: {why}" for name, why in sorted(outcome.without.items())]
        lines += [f"- {name}: nobody has written its oracle" for name in outcome.missing]
    return "\n".join(lines) + "\n"
