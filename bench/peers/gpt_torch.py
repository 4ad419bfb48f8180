"""gpt-train by PyTorch: --mode eager or compile."""

import peer

options = peer.arguments("--mode")
import torch  # noqa: E402
from torch_training import TorchTraining  # noqa: E402

torch.set_num_threads(options.threads)
nn, F = torch.nn, torch.nn.functional
WIDTH, HEADS, CONTEXT, LETTERS, LAYERS = 256, 4, 128, 65, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2)
                   for y in self.qkv(self.norm1(x)).split(WIDTH, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Parameter(torch.empty(LETTERS, WIDTH))
        self.places = nn.Parameter(torch.empty(CONTEXT, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.last = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, LETTERS, bias=False)

    def forward(self, text, following):
        x = F.embedding(text, self.tokens) + self.places
        x = self.head(self.last(self.blocks(x)))
        return F.cross_entropy(x.view(-1, LETTERS), following.view(-1))


def fill(model):
    """The first weights of bench/train/gpt.cc."""
    seed = iter(range(10, 100))

    def weight(shape):
        return torch.from_numpy(peer.weight(next(seed), shape, shape[0]) * peer.np.float32(0.25))

    with torch.no_grad():
        model.tokens.copy_(weight((LETTERS, WIDTH)))
        model.places.copy_(weight((CONTEXT, WIDTH)))
        linears = [m for b in model.blocks for m in (b.qkv, b.out, b.up, b.down)] + [model.head]
        for linear in linears:
            linear.weight.copy_(weight((linear.in_features, linear.out_features)).t())
            if linear.bias is not None:
                linear.bias.zero_()


class Training(TorchTraining):
    steps = 3

    def __init__(self, batch):
        def letters(seed):
            return torch.from_numpy(peer.below(seed, batch * CONTEXT, LETTERS)).view(batch, CONTEXT)

        self.batches = [(letters(100 + k), letters(200 + k)) for k in range(4)]
        model = Gpt()
        fill(model)
        self.begin(model, model, lambda parameters: torch.optim.AdamW(
            parameters, lr=0.0005, weight_decay=0.01, fused=True), options.mode)


peer.serve(f"torch {torch.__version__}", lambda case: Training(int(case.removeprefix("batch"))))
