"""lenet-train by PyTorch: --mode eager or compile."""

import lenet
import peer

options = peer.arguments("--mode")
import torch  # noqa: E402
from torch_training import TorchTraining, adam  # noqa: E402

torch.set_num_threads(options.threads)
nn = torch.nn


class Training(lenet.Training, TorchTraining):
    def __init__(self, batch):
        super().__init__(batch, torch.from_numpy)
        model = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        layers = [m for m in model if hasattr(m, "weight")]
        with torch.no_grad():
            for layer, w in zip(layers, lenet.weights()):
                w = torch.from_numpy(w)
                layer.weight.copy_(w if w.dim() == 4 else w.t())
                layer.bias.zero_()
        self.begin(model, lambda x, y: nn.functional.cross_entropy(model(x), y), adam,
                   options.mode)


peer.serve(f"torch {torch.__version__}", lambda case: Training(int(case.removeprefix("batch"))))
