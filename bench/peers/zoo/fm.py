"""The twin of models/movielens/fm."""

import torch

import clicks
from clicks import t


class FM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fields = clicks.Fields()
        self.bias = t.param("fm.b")
        self.numbers = t.linear("numbers")

    def forward(self, batch):
        e = self.fields(batch)
        first, v = e[:, :, 0].sum(1), e[:, :, 1:]
        pairs = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1)
        return self.bias + first + pairs + self.numbers(batch["dense"])[:, 0]


model = FM()
clicks.fit(model, clicks.adagrad(model.fields.rows))
