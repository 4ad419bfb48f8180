"""The twin of models/images/lenet5."""

import torch
import torch.nn.functional as F

import images
import twin

nn = torch.nn
t = twin.Twin()
model = nn.Sequential(
    t.conv("c1", padding=2), nn.ReLU(), nn.MaxPool2d(2),
    t.conv("c2"), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), t.mlp("head"))


def logits(batch):
    return model(twin.real(batch["image"][:, None]) / 255)


sgd = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True, weight_decay=0.0005)
t.fit(model, [sgd], lambda batch: F.cross_entropy(logits(batch), batch["label"].long()), logits,
      schedulers=[images.cosine(sgd, 6450, 2580)])
