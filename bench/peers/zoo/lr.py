"""The twin of models/movielens/lr."""

import torch

import clicks
from clicks import t


class LogisticRegression(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fields = clicks.Fields()
        self.numbers = t.linear("numbers")

    def forward(self, batch):
        return (self.fields(batch).sum(1) + self.numbers(batch["dense"]))[:, 0]


model = LogisticRegression()
clicks.fit(model, clicks.adagrad(model.fields.rows, lr=0.2))
