"""What the twins of models/images and models/cifar10 share."""

import math

import torch

import twin


def norm(t, path, eps=1e-5):
    """Our norm over the batch, rank 4."""
    layer = torch.nn.BatchNorm2d(len(t.weight(path + ".scale")), eps)
    with torch.no_grad():
        layer.weight.copy_(t.weight(path + ".scale"))
        layer.bias.copy_(t.weight(path + ".offset"))
        layer.running_mean.copy_(t.weight(path + ".mean"))
        layer.running_var.copy_(t.weight(path + ".var"))
    return layer


def conv_norm(t, path, eps=1e-5, **settings):
    """A convolution path.conv without bias, then path.norm."""
    return torch.nn.Sequential(t.conv(path + ".conv", **settings), norm(t, path + ".norm", eps))


def cosine(optimizer, steps, warmup):
    """Our schedule of that name: a rise to the optimizer's rate, then half a cosine down to 0."""
    def factor(t):
        down = 0.5 * (1 + math.cos(math.pi * min(max(t - warmup, 0) / (steps - warmup), 1)))
        return down * min((t + 1) / warmup, 1)
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def one_cycle(optimizer, steps):
    """Our schedule of that name, up to the optimizer's rate and down, each half of the steps."""
    top = optimizer.param_groups[0]["lr"]
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, top, total_steps=steps, pct_start=0.5,
                                               div_factor=1000, cycle_momentum=False)


def cifar(image):
    """Bytes [B, H, W, 3] as numbers [B, 3, H, W] of mean 0 and variance 1."""
    return ((twin.real(image) / 255 - 0.473) / 0.251).permute(0, 3, 1, 2).contiguous()
