"""The twin of models/news/bag."""

import torch
import torch.nn.functional as F

import twin

t = twin.Twin()


class Bag(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.EmbeddingBag.from_pretrained(t.weight("words"), freeze=False, mode="sum",
                                                           sparse=True)
        self.deep = t.mlp("deep")

    def forward(self, batch):
        words, counts = batch["words"], torch.log1p(batch["words.weights"].values)
        rows = torch.repeat_interleave(torch.arange(len(words.lengths())), words.lengths())
        total = torch.zeros(len(words.lengths())).index_add(0, rows, counts)
        bags = self.words(words.values, words.offsets[:-1], per_sample_weights=counts)
        return self.deep(bags / total[:, None])


model = Bag()
# Only words that occur in a batch are updated, with their moments, as we do.
optimizers = [torch.optim.SparseAdam(model.words.parameters(), lr=0.003, eps=1e-12),
              torch.optim.Adam(model.deep.parameters(), lr=0.003, eps=1e-12)]
t.fit(model, optimizers, lambda batch: F.cross_entropy(model(batch), batch["label"]), predict=model)
