"""What the twins of models/images and models/cifar10 share."""

import math

import torch


def norm(t, path):
    """Our norm over the batch, rank 4."""
    layer = torch.nn.BatchNorm2d(len(t.weight(path + ".scale")))
    with torch.no_grad():
        layer.weight.copy_(t.weight(path + ".scale"))
        layer.bias.copy_(t.weight(path + ".offset"))
        layer.running_mean.copy_(t.weight(path + ".mean"))
        layer.running_var.copy_(t.weight(path + ".var"))
    return layer


def conv_norm(t, path, **settings):
    """A convolution path.conv without bias, then path.norm."""
    return torch.nn.Sequential(t.conv(path + ".conv", **settings), norm(t, path + ".norm"))


def cosine(optimizer, steps):
    """Our schedule of that name, from the optimizer's rate to 0."""
    factor = lambda t: 0.5 * (1 + math.cos(math.pi * min(t, steps) / steps))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def one_cycle(optimizer, value, steps):
    """Our schedule of that name."""
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, value, total_steps=steps,
                                               cycle_momentum=False)


def cifar(image):
    """Bytes [B, H, W, 3] as numbers [B, 3, H, W] of mean 0 and variance 1."""
    return ((image.float() / 255 - 0.473) / 0.251).permute(0, 3, 1, 2).contiguous()
