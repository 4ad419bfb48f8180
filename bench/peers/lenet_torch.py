"""lenet-train by PyTorch: --mode eager or compile."""

import lenet
import peer

options = peer.arguments("--mode")
import torch  # noqa: E402

torch.set_num_threads(options.threads)
nn = torch.nn


class Training(lenet.Training):
    def __init__(self, batch):
        super().__init__(batch, torch.from_numpy)
        self.model = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        layers = [m for m in self.model if hasattr(m, "weight")]
        with torch.no_grad():
            for layer, w in zip(layers, lenet.weights()):
                w = torch.from_numpy(w)
                layer.weight.copy_(w if w.dim() == 4 else w.t())
                layer.bias.zero_()
        self.initial = [p.detach().clone() for p in self.model.parameters()]
        self.adam = torch.optim.Adam(self.model.parameters(), lr=0.001, fused=True)
        self.loss = lambda x, y: nn.functional.cross_entropy(self.model(x), y)
        if options.mode == "compile":
            torch._dynamo.reset()
            self.loss = torch.compile(self.loss, fullgraph=True, dynamic=False)
        self.warm_up()

    def reset(self):
        with torch.no_grad():
            for parameter, value in zip(self.model.parameters(), self.initial):
                parameter.copy_(value)
            for state in self.adam.state.values():
                for value in state.values():
                    value.zero_()

    def step(self, image, label):
        self.adam.zero_grad(set_to_none=True)
        loss = self.loss(image, label)
        loss.backward()
        self.adam.step()
        return loss.detach()


peer.serve(f"torch {torch.__version__}", lambda case: Training(int(case.removeprefix("batch"))))
