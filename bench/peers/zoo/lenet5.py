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
    return model(batch["image"][:, None].float() / 255)


adam = torch.optim.Adam(model.parameters(), lr=0.002)
t.fit(model, [adam], lambda batch: F.cross_entropy(logits(batch), batch["label"].long()), logits,
      schedulers=[images.cosine(adam, 6450)])
