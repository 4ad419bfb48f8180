"""The cases of `kernels` by PyTorch eager: the line of each case, on the same numbers."""

import contextlib
import os
import sys

import peer

options = peer.arguments()
import torch  # noqa: E402

torch.set_num_threads(options.threads)
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kernel_cases import cases  # noqa: E402

SECONDS_A_ROUND = 0.012
CASES = {c.name: c for c in cases()}


def make_input(spec, seed):
    count = 1
    for dim in spec["shape"]:
        count *= dim
    values = peer.uniform(seed, count)
    if spec["dtype"] == "f32":
        return torch.from_numpy(2 * values - 1).reshape(spec["shape"])
    kind = {"i64": torch.int64, "i32": torch.int32, "bool": torch.bool, "u64": torch.int64}
    whole = (values.astype("float64") * spec["below"]).astype("int64")
    return torch.from_numpy(whole).reshape(spec["shape"]).to(kind[spec["dtype"]])


class Kernel:
    def __init__(self, case):
        self.case = case
        self.names = {"torch": torch, "F": torch.nn.functional}
        for seed, spec in enumerate(case.as_json()["inputs"]):
            self.names[spec["name"]] = make_input(spec, seed + 1)
        exec(case.setup, self.names)
        self.code = compile(case.torch, case.name, "eval")
        for name in case.grads:
            self.names[name].requires_grad_(True)
        with self.mode():
            self.once()
            once = peer.timed(self.once, 3)
        self.repeats = max(1, int(SECONDS_A_ROUND / once))

    def mode(self):
        """Inference mode where nothing is learned; entered once, as its users do."""
        learns = bool(self.case.grads) or self.case.steps
        return contextlib.nullcontext() if learns else torch.inference_mode()

    def once(self):
        if not self.case.grads:
            return eval(self.code, self.names)
        for name in self.case.grads:
            self.names[name].grad = None
        y = eval(self.code, self.names)
        loss = (y * self.names["g"]).sum()
        loss.backward()
        return [loss.detach()] + [self.names[name].grad for name in self.case.grads]

    def check(self):
        with self.mode():
            results = self.once()
        if not isinstance(results, (list, tuple)):
            results = [results]
        values = []
        for index in self.case.check:
            y = results[index]
            y = (y.to_dense() if y.is_sparse else y).double().flatten()
            values.append(float(y.abs().mean()))
            values += [float(v) for v in y[:4]]
        return values

    def run(self):
        with self.mode():
            return {"seconds": peer.timed(self.once, self.repeats)}


peer.serve(f"torch {torch.__version__}", lambda name: Kernel(CASES[name]))
