"""Runs ops on both sides and compares."""

import copy
import importlib
import json
import math
import os
import random
import subprocess
from dataclasses import dataclass, field

import torch

from .oracle import DTYPES, OPTIONS, ORACLES, WITHOUT, Call

# Relative to the largest result of a call, or to 1. Gradients go through more roundings.
TOLERANCE = {"f64": 1e-9, "f32": 2e-5}
GRADIENT_TOLERANCE = {"f64": 1e-8, "f32": 2e-4}

torch.set_num_threads(1)
for module in sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))):
    if module.endswith(".py") and module[:-3] not in ("__init__", "oracle", "compare", "report"):
        importlib.import_module("oracle_ops." + module[:-3])


class Engine:
    """bin/op_oracle, which answers a line for a line."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"op_oracle stopped at {json.dumps(request)[:300]}")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)


@dataclass
class OpOutcome:
    name: str
    group: str
    samples: int = 0
    randoms: int = 0
    gradients: int = 0
    refused: int = 0    # calls that the other side cannot make, and
    reasons: set = field(default_factory=set)  # what it said
    worst: dict = field(default_factory=dict)  # by dtype: of the results, of the gradients
    differences: list = field(default_factory=list)


@dataclass
class Outcome:
    ops: list = field(default_factory=list)
    without: dict = field(default_factory=dict)
    missing: list = field(default_factory=list)

    @property
    def differences(self):
        return [d for op in self.ops for d in op.differences]


def number(value):
    return float(value) if isinstance(value, str) else value


def to_tensor(value, floats):
    if value is None:
        return None
    dtype = DTYPES[floats if value["dtype"] == "f32" else value["dtype"]]
    data = [number(v) for v in value["data"]]
    if value["dtype"] == "u64":
        data = [v - (1 << 64) if v >= (1 << 63) else v for v in data]
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    return torch.tensor(data, dtype=wide).reshape(value["shape"]).to(dtype)


def plain(attr):
    if isinstance(attr, dict):
        return attr.get("word", attr.get("dtype"))
    if isinstance(attr, list):
        return [plain(a) for a in attr]
    return float(attr) if attr in ("nan", "inf", "-inf") else attr


def difference(ours, theirs):
    """The largest difference, relative to the largest of theirs or 1; inf when shapes, signs of
    infinity or NaNs differ."""
    if list(ours.shape) != list(theirs.shape):
        return math.inf
    if ours.numel() == 0:
        return 0.0
    a, b = ours.double(), theirs.detach().double()
    if not torch.equal(torch.isnan(a), torch.isnan(b)):
        return math.inf
    if not torch.equal(torch.isinf(a), torch.isinf(b)) or not torch.equal(
            a[torch.isinf(a)], b[torch.isinf(b)]):
        return math.inf
    finite = torch.isfinite(a)
    if not finite.any():
        return 0.0
    scale = max(1.0, float(b[finite].abs().max()))
    return float((a[finite] - b[finite]).abs().max()) / scale


def compare_call(engine, request, floats, spec, result, kind):
    ours = engine.ask(dict(request, floats=floats))
    where = f"{request['op']} {kind} in {floats}"
    if "error" in ours:
        result.differences.append(f"{where}: we fail: {ours['error'].splitlines()[0]}")
        return
    inputs = [to_tensor(v, floats) for v in request["inputs"]]
    lengths = [v.get("lengths") if v else None for v in request["inputs"]]
    wants_gradient = request["gradient"] and OPTIONS[request["op"]]["gradient"]
    for tensor in inputs:
        if wants_gradient and tensor is not None and tensor.dtype == DTYPES[floats]:
            tensor.requires_grad_(True)
    attrs = {name: plain(value) for name, value in request["attrs"].items()}
    try:
        theirs = ORACLES[request["op"]](Call(spec["operands"], inputs, lengths, attrs, request["op"]))
    except Exception as error:  # said below, and in the report
        result.refused += 1
        if not isinstance(error, NotImplementedError):
            result.reasons.add(str(error).splitlines()[0][:120])
        return
    if not isinstance(theirs, (list, tuple)):
        theirs = [theirs]
    factor = OPTIONS[request["op"]]["tolerance"]
    for i, (mine, other) in enumerate(zip(ours["outputs"], theirs)):
        if other is None:
            continue
        gap = difference(to_tensor(mine, mine["dtype"]), other)
        key = (floats, "result")
        result.worst[key] = max(result.worst.get(key, 0.0), gap)
        if gap > TOLERANCE[floats] * factor:
            result.differences.append(f"{where}: result {i} differs by {gap:.2g}: {brief(request)}")
            return
    if not wants_gradient:
        return
    total = None
    for weight, other in zip(ours["arriving"], theirs):
        if other is None or not other.dtype.is_floating_point or not other.requires_grad:
            continue
        part = (other * to_tensor(weight, weight["dtype"])).sum()
        total = part if total is None else total + part
    if total is None:
        return
    try:
        total.backward()
    except RuntimeError as error:
        result.reasons.add(str(error).splitlines()[0][:120])
        return
    result.gradients += 1
    for i, mine in enumerate(ours["gradients"]):
        tensor = inputs[i] if i < len(inputs) else None
        if tensor is None or not tensor.requires_grad:
            continue
        theirs_grad = tensor.grad if tensor.grad is not None else torch.zeros_like(tensor)
        mine_grad = torch.zeros_like(tensor) if mine is None else to_tensor(mine, mine["dtype"])
        gap = difference(mine_grad, theirs_grad)
        key = (floats, "gradient")
        result.worst[key] = max(result.worst.get(key, 0.0), gap)
        if gap > GRADIENT_TOLERANCE[floats] * factor:
            result.differences.append(
                f"{where}: gradient {i} differs by {gap:.2g}: {brief(request)}")


def brief(request):
    values = ", ".join("-" if v is None else f"{v['dtype']}{v['shape']}"
                       for v in request["inputs"])
    attrs = ", ".join(f"{k}={plain(v)}" for k, v in request["attrs"].items())
    return f"({values}; {attrs})"


def randomised(request, source):
    """The same call with other floats, spread as those of the sample are; None when it has none."""
    other = copy.deepcopy(request)
    any_floats = False
    for value in other["inputs"]:
        if value is None or value["dtype"] != "f32":
            continue
        finite = [number(v) for v in value["data"] if math.isfinite(number(v))]
        if not finite:
            continue
        low, high = min(finite), max(finite)
        if low == high:
            low, high = low - 0.5, high + 0.5
        if len(set(finite)) <= 2 and set(finite) <= {0.0, 1.0}:  # labels and masks
            value["data"] = [float(source.random() < 0.5) for _ in value["data"]]
        else:
            value["data"] = [torch.tensor(source.uniform(low, high), dtype=torch.float32).item()
                             for _ in value["data"]]
        any_floats = True
    return other if any_floats else None


def compare_op(engine, spec, options):
    result = OpOutcome(spec["name"], spec["group"])
    source = random.Random(f"{options.seed} {spec['name']}")
    for k, sample in enumerate(engine.ask({"samples": spec["name"]})):
        result.samples += 1
        for floats in ("f64", "f32"):
            compare_call(engine, sample, floats, spec, result, f"sample {k}")
        if not OPTIONS[spec["name"]]["random"]:
            continue
        for _ in range(options.random):
            other = randomised(sample, source)
            if other is None:
                break
            result.randoms += 1
            for floats in ("f64", "f32"):
                compare_call(engine, other, floats, spec, result, f"random of sample {k}")
    return result


def compare_all(engine, options):
    outcome = Outcome()
    specs = engine.ask({"list": True})
    names = {s["name"] for s in specs}
    for name in options.ops:
        if name not in names:
            raise SystemExit(f"tools/oracle: there is no op {name} that runs alone")
    for spec in specs:
        name = spec["name"]
        if options.ops and name not in options.ops:
            continue
        if name in WITHOUT:
            outcome.without[name] = WITHOUT[name]
        elif "_grad" in name and name not in ORACLES:
            outcome.without[name] = "part of a gradient, which is compared with its op"
        elif name not in ORACLES:
            outcome.missing.append(name)
        else:
            one = compare_op(engine, spec, options)
            outcome.ops.append(one)
            if options.verbose:
                print(f"{name}: {one.samples} samples, {one.randoms} random, "
                      f"{len(one.differences)} differences", flush=True)
    return outcome
