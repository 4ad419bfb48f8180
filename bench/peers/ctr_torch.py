"""ctr-train by PyTorch: --mode eager, compile, or gemm (its matrix products alone)."""

import peer
import ctr_rows

options = peer.arguments("--mode")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(options.threads)


class DeepFM(torch.nn.Module):
    """Takes the embeddings, so that what is compiled has no sparse gradient in it."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(ctr_rows.NUMBERS, 1)
        layers = []
        for fan_in, fan_out in zip(ctr_rows.SIZES, ctr_rows.SIZES[1:]):
            layers += [torch.nn.Linear(fan_in, fan_out), torch.nn.ReLU()]
        self.deep = torch.nn.Sequential(*layers[:-1])
        with torch.no_grad():
            linears = [self.wide] + list(self.deep[::2])
            for linear, w in zip(linears, [ctr_rows.wide_weight()] + ctr_rows.deep_weights()):
                linear.weight.copy_(torch.from_numpy(w).t())
                linear.bias.zero_()

    def forward(self, label, dense, e, first):
        total = e.sum(1)
        fm = 0.5 * (total * total - (e * e).sum(1)).sum(1)
        x = torch.cat([e.flatten(1), dense], 1)
        score = first.sum((1, 2)) + self.wide(dense)[:, 0] + fm + self.deep(x)[:, 0]
        return F.binary_cross_entropy_with_logits(score, label)


class Training(ctr_rows.Training):
    def __init__(self, batch, compiled):
        super().__init__(batch)
        self.v = torch.nn.Embedding(ctr_rows.IDS, ctr_rows.WIDTH, sparse=True)
        self.w = torch.nn.Embedding(ctr_rows.IDS, 1, sparse=True)
        with torch.no_grad():
            self.v.weight.copy_(torch.from_numpy(ctr_rows.embeddings()))
            self.w.weight.zero_()
        self.model = DeepFM()
        self.loss = self.model
        if compiled:
            torch._dynamo.reset()
            self.loss = torch.compile(self.model, fullgraph=True, dynamic=False)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=0.001, fused=True)
        self.adagrad = torch.optim.Adagrad([self.v.weight, self.w.weight], lr=0.01,
                                           initial_accumulator_value=0.1)
        self.first_losses()

    def step(self):
        label, dense, ids = map(torch.from_numpy, self.batches.next())
        self.adam.zero_grad(set_to_none=True)
        self.adagrad.zero_grad(set_to_none=True)
        loss = self.loss(label, dense, self.v(ids), self.w(ids))
        loss.backward()
        self.adam.step()
        self.adagrad.step()
        return loss


class Gemm:
    """The products of one step, as PyTorch's library computes them."""

    def __init__(self, batch):
        self.batch, self.work = batch, {}
        for k, (fan_in, fan_out) in enumerate(zip(ctr_rows.SIZES, ctr_rows.SIZES[1:])):
            x, w = torch.rand(batch, fan_in), torch.rand(fan_out, fan_in)
            dy, y = torch.rand(batch, fan_out), torch.empty(batch, fan_out)
            dw, dx = torch.empty(fan_out, fan_in), torch.empty(batch, fan_in)
            self.work[f"forward{k + 1}"] = (x, w.t(), y)
            self.work[f"weight{k + 1}"] = (dy.t(), x, dw)
            self.work[f"input{k + 1}"] = (dy, w, dx)
        self.repeats = 20 if batch <= 128 else 3

    def run(self):
        parts = {}
        for name, (a, b, c) in self.work.items():
            torch.mm(a, b, out=c)
            parts[name] = peer.timed(lambda: torch.mm(a, b, out=c), self.repeats) / self.batch
        return {"seconds": sum(parts.values()), "parts": parts}


def prepare(case):
    batch = int(case.removeprefix("batch"))
    if options.mode == "gemm":
        return Gemm(batch)
    return Training(batch, options.mode == "compile")


peer.serve(f"torch {torch.__version__}", prepare)
