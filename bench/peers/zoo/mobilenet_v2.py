"""The twin of models/cifar10/mobilenet_v2."""

import torch
import torch.nn.functional as F

import images
import twin

t = twin.Twin()


def conv_norm(path, **settings):
    return images.conv_norm(t, path, eps=0.001, **settings)


class Inverted(torch.nn.Module):
    def __init__(self, path, inputs, outputs, stride):
        super().__init__()
        self.residual = inputs == outputs
        if self.residual:
            path += ".inverted"
        self.widen = conv_norm(path + ".widen")
        self.filter = conv_norm(path + ".filter", stride=stride, padding=1, groups=6 * inputs)
        self.narrow = conv_norm(path + ".narrow")

    def forward(self, x):
        y = self.narrow(F.relu6(self.filter(F.relu6(self.widen(x)))))
        return x + y if self.residual else y


class MobileNetV2(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_norm("stem", padding=1)
        self.filter = conv_norm("filter", padding=1, groups=32)
        self.narrow = conv_norm("narrow")
        blocks, inputs = [], 16
        for outputs, count, stride in [(24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2),
                                       (320, 1, 1)]:
            for k in range(count):
                blocks.append(Inverted(f"b{len(blocks) + 1}", inputs, outputs,
                                       stride if k == 0 else 1))
                inputs = outputs
        self.blocks = torch.nn.Sequential(*blocks)
        self.last = conv_norm("last")
        self.fc = t.linear("fc")

    def forward(self, batch):
        x = F.relu6(self.stem(images.cifar(batch["image"])))
        x = self.narrow(F.relu6(self.filter(x)))
        return self.fc(F.relu6(self.last(self.blocks(x))).mean((2, 3)))


model = MobileNetV2()
sgd = torch.optim.SGD(model.parameters(), lr=0.06, momentum=0.9, weight_decay=0.00004)
t.fit(model, [sgd], lambda batch: F.cross_entropy(model(batch), batch["label"].long()), model,
      schedulers=[images.one_cycle(sgd, 704)])
