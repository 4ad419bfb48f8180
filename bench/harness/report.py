"""Tables for people, lines for programs."""

from . import benchmark as model

SCALE = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def table(bench, result):
    """Rows of cells; the first is the heading."""
    scale = SCALE.get(bench.unit, 1.0)
    rows = [["case"] + [s.name for s in bench.sides if s.role != model.LIMIT]
            + (["machine limit"] if bench.limit else []) + ["ratio", "goals"]]
    for case in bench.cases:
        figures = result["cases"][case.name]
        cells = [case.name]
        for side in bench.sides:
            if side.role == model.LIMIT:
                continue
            one = figures["sides"].get(side.name)
            cells.append(number(one["median"] * scale) if one else "-")
        if bench.limit:
            cells.append(f"{number(figures['limit_seconds'] * scale)} ({figures['limit']:.0%})"
                         if "limit" in figures else "–")
        cells.append("-" if figures["ratio"] is None else f"{figures['ratio']:.2f}")
        goals = [f"{g['reached']:.2f} of {g['goal']:g} x {peer}"
                 for peer, g in figures["goals"].items()]
        if figures.get("goal_seconds") is not None:
            goals.append(f"under {number(figures['goal_seconds'] * scale)} {bench.unit}")
        if case.limit_goal is not None and "limit" in figures:
            goals.append(f"{figures['limit']:.2f} of {case.limit_goal:g} of the limit")
        cells.append("; ".join(goals))
        rows.append(cells)
        rows += [figure_row(bench, case, figure, judged, figures["sides"])
                 for figure, judged in zip(case.figures, figures["figures"])]
    for name, derived in result["derived"].items():
        width = len(rows[0])
        rows.append([name] + ["-"] * (width - 3) + [f"{derived['ratio']:.2f}", derived["what"]])
    for name, median in result["medians"].items():
        what = f"median of {median['cases']}, lowest {median['lowest']:.2f}"
        if median["goal"] is not None:
            what += f"; goal {median['goal']:g}"
        rows.append([name] + ["-"] * (len(rows[0]) - 3) + [f"{median['ratio']:.2f}", what])
    return rows


def figure_row(bench, case, figure, judged, sides):
    """A row for something else than the time: of every side that measured it."""
    scale = SCALE.get(figure.unit, 1.0)

    def of(side):
        value = sides.get(side.name, {"parts": {}})["parts"].get(figure.part)
        return "-" if value is None else f"{number(value * scale)} {figure.unit}".rstrip()

    limits = [of(side) for side in bench.sides if side.role == model.LIMIT]
    cells = [f"{case.name}, {figure.what}"]
    cells += [of(side) for side in bench.sides if side.role != model.LIMIT]
    if bench.limit:
        cells.append(limits[0] if limits else "-")
    goal = ""
    if judged["goal"] is not None:
        side = "at most" if figure.at_most is not None else "at least"
        goal = f"{side} {number(judged['goal'] * scale)} {figure.unit}".rstrip()
    cells.append("-" if judged["ratio"] is None else f"{judged['ratio']:.2f}")
    return cells + [goal]


def heading(bench, threads):
    many = "1 thread" if threads == 1 else f"{threads} threads"
    return f"{bench.name}: {bench.summary} ({bench.unit} per {bench.per}, median, {many})"


def text(bench, result, threads):
    rows = table(bench, result)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [heading(bench, threads)]
    for row in rows:
        lines.append("  " + "  ".join(
            cell.ljust(w) if i in (0, len(row) - 1) else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths))).rstrip())
    return "\n".join(lines)


def verdict(bench, result):
    """The lines of the contract."""
    lines = []
    for case in bench.cases:
        figures = result["cases"][case.name]
        if "limit" in figures:
            lines.append(f"{bench.name}/{case.name} limit {figures['limit']:.3f}")
        if figures["ratio"] is not None:
            lines.append(f"{bench.name}/{case.name} ratio {figures['ratio']:.3f}")
        for figure in figures["figures"]:
            name = f"{bench.name}/{case.name}/{figure['part']}"
            lines.append(f"{name} value {figure['value']:.6g}")
            if figure["ratio"] is not None:
                lines.append(f"{name} ratio {figure['ratio']:.3f}")
    for name, derived in result["derived"].items():
        lines.append(f"{bench.name}/{name} ratio {derived['ratio']:.3f}")
    for name, median in result["medians"].items():
        lines.append(f"{bench.name}/{name} median {median['ratio']:.3f}")
    if result["limit"] is not None:
        lines.append(f"{bench.name} limit {result['limit']:.3f}")
    if result["ratio"] is not None:
        lines.append(f"{bench.name} ratio {result['ratio']:.3f}")
    return "\n".join(lines)


def missed(bench, result):
    """Figures that must reach their goals, and have not."""
    return [f"{bench.name}/{case.name}: {figure.what}: {number(judged['value'])}, goal "
            f"{number(judged['goal'])}"
            for case in bench.cases
            for figure, judged in zip(case.figures, result["cases"][case.name]["figures"])
            if judged["missed"]]


def markdown(report, benches, command):
    """A page of docs/performance."""
    machine, limits = report["machine"], report["machine"]["limits"]
    lines = [
        "# Performance", "",
        "[What the columns say](README.md).", "",
        f"`{command}` on {machine['processor']} ({machine['cores']} cores, "
        f"{best_isa(machine['instruction_sets'])}); GEMM {limits['gemm_gflops']:.0f} GFLOP/s, "
        f"memory {limits['read_gbs']:.1f} GB/s read and {limits['copy_gbs']:.1f} GB/s copied, "
        f"measured in the same run."
        + busy(report["load_at_start"], report["threads"]), ""]
    for name, result in report["benchmarks"].items():
        bench = benches[name]
        lines += [f"**{heading(bench, report['threads'])}**", ""]
        rows = table(bench, result)
        lines.append("| " + " | ".join(rows[0]) + " |")
        lines.append("|" + " --- |" * len(rows[0]))
        lines += ["| " + " | ".join(row) + " |" for row in rows[1:]]
        lines.append("")
        versions = ", ".join(sorted({v for v in result["versions"].values() if v}))
        if versions:
            lines += [f"Peers: {versions}.", ""]
        if bench.notes:
            lines += [bench.notes, ""]
        notes = side_notes(result)
        if notes:
            lines += ["How the sides ran: " + "; ".join(notes) + ".", ""]
    return "\n".join(lines).rstrip() + "\n"


def side_notes(result):
    """What sides said of themselves, each once: of the first case they were in."""
    said = {}
    for figures in result["cases"].values():
        for side, note in figures["notes"].items():
            said.setdefault(side, note)
    return [f"{side}: {note}" for side, note in said.items()]


def busy(load, threads):
    if load <= 0.7 * threads:
        return ""
    return f" Other programs were running (load {load:.1f}): every figure is too high."


def best_isa(flags):
    for name in ("avx512f", "avx2", "avx", "asimd", "sse4_2"):
        if name in flags:
            return name
    return "plain"
