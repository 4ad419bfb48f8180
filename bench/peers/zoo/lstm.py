"""The twin of models/text/lstm."""

import torch
import torch.nn.functional as F

import letters
import twin

t = twin.Twin()


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = t.param("letters")
        self.cells = torch.nn.LSTM(64, 192, num_layers=2, batch_first=True)
        for k, path in enumerate(("cells.l1", "cells.l2")):
            self.cells.get_parameter(f"weight_ih_l{k}").data.copy_(t.weight(path + ".wx").t())
            self.cells.get_parameter(f"weight_hh_l{k}").data.copy_(t.weight(path + ".wh").t())
            self.cells.get_parameter(f"bias_ih_l{k}").data.copy_(t.weight(path + ".b"))
            # PyTorch adds two offsets that have the same gradient; we have one.
            self.cells.get_parameter(f"bias_hh_l{k}").data.zero_()
            self.cells.get_parameter(f"bias_hh_l{k}").requires_grad_(False)
        self.head = t.linear("head")

    def forward(self, text):
        y, _ = self.cells(F.embedding(text.long(), self.letters))
        return self.head(y)


model = Lstm()
adam = torch.optim.Adam(model.parameters(), lr=0.004)
t.fit(model, [adam], lambda batch: letters.nats(model(batch["text"]), batch["next"]),
      schedulers=[letters.cosine(adam, 786, 100)], clip=1.0)
