"""The twin of models/text/gpt."""

import torch
import torch.nn.functional as F

import letters
import twin

t = twin.Twin()
HEADS = 4


def norm(path):
    layer = torch.nn.LayerNorm(len(t.weight(path + ".scale")))
    with torch.no_grad():
        layer.weight.copy_(t.weight(path + ".scale"))
        layer.bias.copy_(t.weight(path + ".offset"))
    return layer


class Block(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        self.norm1, self.norm2 = norm(path + ".norm1"), norm(path + ".norm2")
        self.q, self.k, self.v, self.out = (t.linear(f"{path}.attn.{n}") for n in ("q", "k", "v", "out"))
        self.mlp = t.mlp(path + ".mlp", torch.nn.GELU)

    def forward(self, x):
        b, n, width = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).view(b, n, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, width))
        return x + self.mlp(self.norm2(x))


class Gpt(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.places = t.param("letters"), t.param("places.w")
        self.blocks = torch.nn.Sequential(*[Block(f"b{i}") for i in range(1, 5)])
        self.last, self.head = norm("last"), t.linear("head")

    def forward(self, text):
        x = F.embedding(text.long(), self.letters) + self.places[:text.shape[1]]
        return self.head(self.last(self.blocks(x)))


model = Gpt()
adam = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.01)
t.fit(model, [adam], lambda batch: letters.nats(model(batch["text"]), batch["next"]),
      schedulers=[letters.cosine(adam, 786, 50)], clip=1.0)
