"""What the twins of models/text share."""

import math

import torch
import torch.nn.functional as F


def cosine(optimizer, steps, warmup):
    """Our schedule of that name: a linear rise, then half a cosine down to 0."""
    def factor(t):
        rise = min((t + 1) / warmup, 1)
        done = min(max(t - warmup, 0) / (steps - warmup), 1)
        return rise * 0.5 * (1 + math.cos(math.pi * done))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def nats(logits, following):
    """The mean cross entropy of logits[B, T, letters] and the letters that follow."""
    return F.cross_entropy(logits.flatten(0, 1), following.long().flatten())
