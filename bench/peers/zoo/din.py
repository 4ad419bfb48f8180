"""The twin of models/movielens/din."""

import torch

import clicks
from clicks import t


class DIN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fields = clicks.Fields("history")
        self.score = t.mlp("interest.score", torch.nn.Sigmoid)
        self.top = t.mlp("top")

    def interest(self, movie, history):
        """What was liked before, weighted by how much it is like the movie."""
        ids, mask = history.padded()
        liked = self.fields.rows(ids)
        wanted = movie[:, None].expand_as(liked)
        score = self.score(torch.cat([wanted, liked, wanted - liked, wanted * liked], 2))
        return (liked * score * mask[:, :, None]).sum(1)

    def forward(self, batch):
        e = self.fields(batch)
        liked = self.interest(e[:, 1], batch["history"])
        return self.top(torch.cat([e.flatten(1), liked, batch["dense"]], 1))[:, 0]


model = DIN()
clicks.fit(model, clicks.adagrad(model.fields.rows))
