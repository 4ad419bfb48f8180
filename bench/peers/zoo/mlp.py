"""The twin of models/images/mlp."""

import torch
import torch.nn.functional as F

import images
import twin

t = twin.Twin()
model = torch.nn.Sequential(torch.nn.Flatten(), t.mlp("net"))


def logits(batch):
    return model(twin.real(batch["image"]) / 255)


sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.0001)
t.fit(model, [sgd], lambda batch: F.cross_entropy(logits(batch), batch["label"].long()), logits,
      schedulers=[images.cosine(sgd, 5160, 430)])
