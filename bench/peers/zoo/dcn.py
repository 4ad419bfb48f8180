"""The twin of models/movielens/dcn."""

import torch

import clicks
from clicks import t


class DCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fields = clicks.Fields()
        self.crosses = torch.nn.ModuleList([t.linear("cross.l1"), t.linear("cross.l2")])
        self.deep = t.mlp("deep")
        self.last = t.linear("last")

    def forward(self, batch):
        x0 = torch.cat([self.fields(batch).flatten(1), batch["dense"]], 1)
        x = x0
        for cross in self.crosses:
            x = x0 * cross(x) + x
        return self.last(torch.cat([x, torch.relu(self.deep(x0))], 1))[:, 0]


model = DCN()
clicks.fit(model, clicks.adagrad(model.fields.rows))
