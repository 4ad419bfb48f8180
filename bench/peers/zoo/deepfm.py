"""The twin of models/movielens/deepfm."""

import torch

import clicks
from clicks import t


class DeepFM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fields = clicks.Fields()
        self.bias = t.param("fm.b")
        self.deep = t.mlp("deep")

    def forward(self, batch):
        e = self.fields(batch)
        first, v = e[:, :, 0].sum(1), e[:, :, 1:]
        pairs = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1)
        deep = self.deep(torch.cat([e.flatten(1), batch["dense"]], 1))[:, 0]
        return self.bias + first + pairs + deep


model = DeepFM()
clicks.fit(model, clicks.adagrad(model.fields.rows))
