"""The twin of models/movielens/dlrm."""

import torch

import clicks
from clicks import t


class DLRM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fields = clicks.Fields()
        self.bottom = t.mlp("bottom")
        self.top = t.mlp("top")
        self.pairs = torch.tril_indices(11, 11, offset=-1)

    def forward(self, batch):
        numbers = torch.relu(self.bottom(batch["dense"]))
        vectors = torch.cat([numbers[:, None], self.fields(batch)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([numbers, products], 1))[:, 0]


model = DLRM()
clicks.fit(model, clicks.adagrad(model.fields.rows))
