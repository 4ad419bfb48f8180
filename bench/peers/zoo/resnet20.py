"""The twin of models/cifar10/resnet20."""

import torch
import torch.nn.functional as F

import images
import twin

t = twin.Twin()


class Block(torch.nn.Module):
    def __init__(self, path, stride):
        super().__init__()
        self.stride = stride
        self.conv1, self.bn1 = t.conv(path + ".conv1", stride=stride, padding=1), images.norm(t, path + ".bn1")
        self.conv2, self.bn2 = t.conv(path + ".conv2", padding=1), images.norm(t, path + ".bn2")

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride == 2:
            half = x.shape[1] // 2
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, half))
        return F.relu(x + y)


class ResNet20(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = t.conv("conv1", padding=1), images.norm(t, "bn1")
        self.blocks = torch.nn.Sequential(*(Block(f"s{s}.b{b}", 2 if s > 1 and b == 1 else 1)
                                            for s in (1, 2, 3) for b in (1, 2, 3)))
        self.fc = t.linear("fc")

    def forward(self, batch):
        x = F.relu(self.bn1(self.conv1(images.cifar(batch["image"]))))
        return self.fc(self.blocks(x).mean((2, 3)))


model = ResNet20()
sgd = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=0.0001)
t.fit(model, [sgd], lambda batch: F.cross_entropy(model(batch), batch["label"].long()), model,
      schedulers=[images.one_cycle(sgd, 704)])
