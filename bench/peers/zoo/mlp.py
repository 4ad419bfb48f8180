"""The twin of models/images/mlp."""

import torch
import torch.nn.functional as F

import images
import twin

t = twin.Twin()
model = torch.nn.Sequential(torch.nn.Flatten(), t.mlp("net"))


def logits(batch):
    return model(batch["image"].float() / 255)


adam = torch.optim.Adam(model.parameters(), lr=0.001)
t.fit(model, [adam], lambda batch: F.cross_entropy(logits(batch), batch["label"].long()), logits,
      schedulers=[images.cosine(adam, 5160)])
