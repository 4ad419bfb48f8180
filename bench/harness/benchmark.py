"""How a benchmark is described. Each file in bench/benchmarks/ holds one Benchmark.

A benchmark has cases (sizes, mostly) and sides (who does the work). A side is a process that
stays alive and answers "run CASE" with the seconds that one unit of work took; see worker.py.
"""

from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Union

OURS = "ours"      # the side the ratio is about; exactly one
PEER = "peer"      # the same work by someone else
LIMIT = "limit"    # what the machine can do for this work
INFO = "info"      # printed beside the others, enters no ratio


@dataclass
class Side:
    name: str                    # as printed: "PyTorch eager"
    role: str
    program: str = ""            # a target of the release build, or
    script: str = ""             # a file in bench/peers/, run by the Python of `environment`
    # A list, or a function that makes it when the side is started.
    args: Union[List[str], Callable[[], List[str]]] = field(default_factory=list)
    environment: str = ".venv"   # made by bench/setup
    variables: Dict[str, str] = field(default_factory=dict)  # added to its environment


@dataclass
class Figure:
    """Something else that our side measures in a case: one of its parts, with a goal or without."""
    part: str
    what: str                          # as printed: "99th percentile"
    unit: str                          # as of Benchmark
    at_most: Optional[float] = None    # in seconds where the unit is one of time
    at_least: Optional[float] = None
    required: bool = False             # bench/run fails where the goal is missed


@dataclass
class Case:
    name: str
    what: str = ""
    rounds: Optional[int] = None             # in place of the command's
    goal_seconds: Optional[float] = None     # for a case without a peer
    # By the name of the peer ("" for the best of them): how many times faster we want to be.
    goals: Dict[str, float] = field(default_factory=dict)
    skip: List[str] = field(default_factory=list)  # names of sides that do not take part
    limit_goal: Optional[float] = None       # how much of the machine's limit we want to reach
    figures: List[Figure] = field(default_factory=list)


@dataclass
class Derived:
    """A ratio made from the medians of other cases, such as linearity."""
    name: str
    # Our seconds by case and the limit's, where there is one -> ratio, and what is printed beside.
    ratio: Callable[[Dict[str, float], Dict[str, float]], float]
    what: Callable[[Dict[str, float], Dict[str, float]], str]


@dataclass
class Median:
    """The median of the ratios of the cases whose names begin with `prefix`."""
    name: str
    prefix: str
    goal: Optional[float] = None


@dataclass
class Benchmark:
    name: str
    summary: str
    # "ns" or "us", "ms", "s": of one unit of work; any other word: sides answer with plain numbers
    # of it in place of seconds.
    unit: str
    per: str                     # "op", "step", ...
    sides: List[Side]
    cases: List[Case]
    derived: List[Derived] = field(default_factory=list)
    medians: List[Median] = field(default_factory=list)
    notes: str = ""
    # The largest relative difference between the sides' "check" values; None: nothing to check.
    check_tolerance: Optional[float] = None
    # From our medians and those of a limit side's parts to the seconds the machine needs at
    # least; None: no limit (what it returns too). Arguments: case, {side: {part: seconds}}.
    limit: Optional[Callable[[str, Dict[str, Dict[str, float]]], float]] = None
    # Of tables: how many rows there are. Every side is told --rows; bench/run --rows changes it.
    rows: Optional[int] = None
    # Of what runs for long: about how many. Every side is told --minutes; bench/run --minutes
    # changes it.
    minutes: Optional[float] = None


def fastest_parts(case, parts):
    """A limit: the sum over all parts of the fastest side at each. Products, by several libraries."""
    fastest = {}
    for side in parts.values():
        for part, seconds in side.items():
            fastest[part] = min(seconds, fastest.get(part, seconds))
    return sum(fastest.values())
