"""DeepFM over categories and numbers: what the twins of models/adult, bank, flights and
taxi share."""

import torch

from clicks import t


class DeepFM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = t.table("rows", ["cat"])
        self.bias = t.param("fm.b")
        self.deep = t.mlp("deep")

    def forward(self, batch):
        e = self.rows(batch["cat"])
        first, v = e[:, :, 0].sum(1), e[:, :, 1:]
        pairs = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1)
        deep = self.deep(torch.cat([e.flatten(1), batch["dense"]], 1))[:, 0]
        return self.bias + first + pairs + deep
