"""Runs one benchmark: all sides alternate, round by round, in one run."""

import math
import statistics
import sys
import time

from . import benchmark as model
from .worker import WorkerError


def say(text):
    print(text, file=sys.stderr, flush=True)


def measure_case(bench, case, workers, rounds, minutes):
    """Returns {"sides": {name: figures}, "check": {...}} of one case; None if we skip it."""
    sides, checks, notes = [], {}, {}
    for side in bench.sides:
        if side.name in case.skip:
            continue
        answer = workers[side.name].ask(f"prepare {case.name}")
        if "skip" in answer:
            say(f"bench: {bench.name}/{case.name}: without {side.name}: {answer['skip']}")
            if side.role == model.OURS:
                for other in sides:
                    workers[other.name].ask(f"drop {case.name}")
                return None
            continue
        sides.append(side)
        if answer.get("note"):
            notes[side.name] = answer["note"]
        if bench.check_tolerance is not None and side.role != model.LIMIT:
            values = workers[side.name].ask(f"check {case.name}")["values"]
            if values or side.role != model.INFO:
                checks[side.name] = values
    check = compare(bench, case, checks)

    seconds = {s.name: [] for s in sides}
    parts = {s.name: {} for s in sides}
    for round_ in range(case.rounds or rounds):
        # Whoever goes first changes from round to round.
        k = round_ % len(sides)
        for side in sides[k:] + sides[:k]:
            time.sleep(0.01)  # helpers of the side before stop spinning
            answer = workers[side.name].ask(f"run {case.name}", 1200 + 90 * (minutes or 0))
            seconds[side.name].append(answer["seconds"])
            for part, value in answer.get("parts", {}).items():
                parts[side.name].setdefault(part, []).append(value)
    for side in sides:
        workers[side.name].ask(f"drop {case.name}")
    return {
        "sides": {
            s.name: {
                "role": s.role,
                "median": statistics.median(seconds[s.name]),
                "min": min(seconds[s.name]),
                "rounds": seconds[s.name],
                "parts": {p: statistics.median(v) for p, v in parts[s.name].items()},
            } for s in sides
        },
        "check": check,
        "notes": notes,
    }


def compare(bench, case, checks):
    """Throws when two sides did not do the same work."""
    if bench.check_tolerance is None:
        return None
    ours = next(s.name for s in bench.sides if s.role == model.OURS)
    worst = 0.0
    for name, values in checks.items():
        if len(values) != len(checks[ours]):
            raise WorkerError(f"{bench.name}/{case.name}: {name} gave {len(values)} values to "
                              f"check, {ours} {len(checks[ours])}")
        for ours_value, value in zip(checks[ours], values):
            worst = max(worst, abs(value - ours_value) / max(1e-3, abs(ours_value)))
    if not worst <= bench.check_tolerance:
        raise WorkerError(f"{bench.name}/{case.name}: the sides disagree by {worst:.2g} "
                          f"(at most {bench.check_tolerance}): {checks}")
    return {"difference": worst, "values": checks}


def judge(bench, case, measured):
    """Adds best peer, ratio, goals and limit to what measure_case returned."""
    sides = measured["sides"]
    ours = next(f["median"] for f in sides.values() if f["role"] == model.OURS)
    peers = {n: f["median"] for n, f in sides.items() if f["role"] == model.PEER}
    measured["ours"] = ours
    measured["ratio"] = None
    if peers:
        best = min(peers, key=peers.get)
        measured["best_peer"] = best
        measured["ratio"] = peers[best] / ours
    elif case.goal_seconds is not None:
        measured["goal_seconds"] = case.goal_seconds
        measured["ratio"] = case.goal_seconds / ours
    measured["goals"] = {}
    for peer, goal in case.goals.items():
        name = peer or measured.get("best_peer")
        if name not in peers:
            continue  # it took no part, which was said
        measured["goals"][peer or "the best"] = {
            "goal": goal, "reached": peers[name] / ours}
    parts = next(f["parts"] for f in sides.values() if f["role"] == model.OURS)
    measured["figures"] = [judge_figure(figure, parts[figure.part]) for figure in case.figures]
    if bench.limit:
        floor = bench.limit(case.name, {n: f["parts"] for n, f in sides.items()})
        if floor is not None:
            measured["limit_seconds"] = floor
            measured["limit"] = floor / ours


def judge_figure(figure, value):
    goal = figure.at_most if figure.at_most is not None else figure.at_least
    ratio = None
    if figure.at_most is not None:
        ratio = goal / value if value > 0 else math.inf
    elif figure.at_least is not None:
        ratio = value / goal
    return {"part": figure.part, "value": value, "goal": goal, "ratio": ratio,
            "missed": figure.required and ratio is not None and not ratio >= 1}


def measure(bench, workers, rounds, minutes=None):
    cases = {}
    for case in bench.cases:
        say(f"bench: {bench.name}/{case.name} ...")
        measured = measure_case(bench, case, workers, rounds, minutes)
        if measured is not None:
            cases[case.name] = measured
            judge(bench, case, measured)
    bench.cases = [c for c in bench.cases if c.name in cases]
    ours = {name: figures["ours"] for name, figures in cases.items()}
    floors = {name: f["limit_seconds"] for name, f in cases.items() if "limit_seconds" in f}
    derived = {}
    for d in bench.derived:
        try:
            derived[d.name] = {"ratio": d.ratio(ours, floors), "what": d.what(ours, floors)}
        except KeyError as missing:
            say(f"bench: {bench.name}/{d.name}: not without the case {missing}")
    medians = {}
    for median in bench.medians:
        among = [c["ratio"] for name, c in cases.items()
                 if name.startswith(median.prefix) and c["ratio"] is not None]
        if among:
            medians[median.name] = {"ratio": statistics.median(among), "goal": median.goal,
                                    "cases": len(among), "lowest": min(among)}
    ratios = [c["ratio"] for c in cases.values() if c["ratio"] is not None]
    ratios += [d["ratio"] for d in derived.values()]
    ratios += [f["ratio"] for c in cases.values() for f in c["figures"] if f["ratio"] is not None]
    limits = [c["limit"] for c in cases.values() if "limit" in c]
    return {
        "summary": bench.summary,
        "cases": cases,
        "derived": derived,
        "medians": medians,
        "ratio": min(ratios) if ratios else None,
        "limit": min(limits) if limits else None,
        "versions": {name: worker.version for name, worker in workers.items()},
    }
