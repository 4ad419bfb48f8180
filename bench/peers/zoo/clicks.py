"""What the twins that predict clicks share: vectors of the fields, the optimizers, the loss."""

import torch
import torch.nn.functional as F

import twin

t = twin.Twin()


class Fields(torch.nn.Module):
    """f32[B, 10, D]: the rows of a row's categories, and the mean of its genres' rows."""

    def __init__(self, *more_columns):
        super().__init__()
        self.rows = t.table("rows", ["cat", "genres", *more_columns])

    def forward(self, batch):
        kind = batch["genres"].mean(self.rows)
        return torch.cat([self.rows(batch["cat"]), kind[:, None]], 1)


def adagrad(table, lr=0.02):
    return torch.optim.Adagrad(table.parameters(), lr=lr, eps=1e-8, initial_accumulator_value=1e-5)


def fit(model, *table_optimizers):
    """Adam for what is dense, with the tables' own optimizers; the model gives logits."""
    in_tables = {id(p) for o in table_optimizers for g in o.param_groups for p in g["params"]}
    dense = [p for p in model.parameters() if id(p) not in in_tables]

    def loss(batch):
        return F.binary_cross_entropy_with_logits(model(batch), batch["label"])

    t.fit(model, [torch.optim.Adam(dense, lr=0.001), *table_optimizers], loss, predict=model)
