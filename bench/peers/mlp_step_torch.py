"""mlp-step by PyTorch: --mode eager, compile, or gemm (its matrix products alone)."""

import peer

options = peer.arguments("--mode")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch_training import TorchTraining, adam  # noqa: E402

torch.set_num_threads(options.threads)

SIZES = [784, 512, 512, 10]
BATCHES = 4
STEPS = {1: 100, 32: 40, 512: 6}  # a round; as in bench/mlp_step.cc


def initial_weights():
    """[w, b] of each layer, w as [in, out]."""
    for k, (fan_in, fan_out) in enumerate(zip(SIZES, SIZES[1:])):
        scale = (6.0 / fan_in) ** 0.5
        w = (peer.uniform(10 + k, fan_in * fan_out) * 2 - 1) * scale
        yield torch.from_numpy(w.astype("float32")).reshape(fan_in, fan_out)


def batches(batch):
    for k in range(BATCHES):
        x = torch.from_numpy(peer.uniform(100 + k, batch * SIZES[0])).reshape(batch, SIZES[0])
        label = torch.from_numpy((peer.uniform(200 + k, batch) * 10).astype("int64"))
        yield x, label


class Step(TorchTraining):
    def __init__(self, batch):
        self.steps = STEPS[batch]
        self.batches = list(batches(batch))
        layers = []
        for fan_in, fan_out in zip(SIZES, SIZES[1:]):
            layers += [torch.nn.Linear(fan_in, fan_out), torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        with torch.no_grad():
            for layer, w in zip(model[::2], initial_weights()):
                layer.weight.copy_(w.t())
                layer.bias.zero_()
        self.begin(model, lambda x, label: F.cross_entropy(model(x), label), adam, options.mode)


class Gemm:
    """The products of one step, as PyTorch's library computes them."""

    def __init__(self, batch):
        self.work = {}
        for k, (fan_in, fan_out) in enumerate(zip(SIZES, SIZES[1:])):
            x, w = torch.rand(batch, fan_in), torch.rand(fan_out, fan_in)
            dy, y = torch.rand(batch, fan_out), torch.empty(batch, fan_out)
            dw, dx = torch.empty(fan_out, fan_in), torch.empty(batch, fan_in)
            self.work[f"forward{k + 1}"] = (x, w.t(), y)
            self.work[f"weight{k + 1}"] = (dy.t(), x, dw)
            if k > 0:
                self.work[f"input{k + 1}"] = (dy, w, dx)
        self.repeats = {1: 40, 32: 20, 512: 3}[batch]

    def run(self):
        parts = {}
        for name, (a, b, c) in self.work.items():
            torch.mm(a, b, out=c)
            parts[name] = peer.timed(lambda: torch.mm(a, b, out=c), self.repeats)
        return {"seconds": sum(parts.values()), "parts": parts}


def prepare(case):
    batch = int(case.removeprefix("batch"))
    if options.mode == "gemm":
        return Gemm(batch)
    return Step(batch)


peer.serve(f"torch {torch.__version__}", prepare)
