"""The twin of models/movielens/wide_deep."""

import torch

import clicks
from clicks import t


class WideDeep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.wide = t.tables({"rows": ["cat", "genres"], "wide_rows": ["cat", "crosses"]})
        self.deep = t.mlp("deep")

    def forward(self, batch):
        kind = batch["genres"].mean(self.rows)
        e = torch.cat([self.rows(batch["cat"]), kind[:, None]], 1)
        wide = self.wide(batch["cat"]).sum(1) + batch["crosses"].sum(self.wide)
        deep = self.deep(torch.cat([e.flatten(1), batch["dense"]], 1))
        return (wide + deep)[:, 0]


model = WideDeep()
clicks.fit(model, clicks.adagrad(model.rows), clicks.adagrad(model.wide, lr=0.01))
