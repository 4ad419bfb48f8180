"""lenet-train by PaddlePaddle."""

import lenet
import peer

options = peer.arguments()
import paddle  # noqa: E402

paddle.set_device("cpu")
nn = paddle.nn


class Training(lenet.Training):
    def __init__(self, batch):
        super().__init__(batch, paddle.to_tensor)
        self.model = nn.Sequential(
            nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2),
            nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
        self.initial = []
        for layer, w in zip((m for m in self.model if hasattr(m, "weight")), lenet.weights()):
            self.initial += [w, peer.uniform(1, layer.bias.shape[0]) * 0]
        self.reset()
        self.warm_up()

    def reset(self):
        for parameter, value in zip(self.model.parameters(), self.initial):
            parameter.set_value(value)
        self.adam = paddle.optimizer.Adam(0.001, parameters=self.model.parameters())

    def step(self, image, label):
        loss = nn.functional.cross_entropy(self.model(image), label)
        loss.backward()
        self.adam.step()
        self.adam.clear_grad()
        return loss


peer.serve(f"paddle {paddle.__version__}", lambda case: Training(int(case.removeprefix("batch"))))
