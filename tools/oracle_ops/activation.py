import torch
import torch.nn.functional as F

from .oracle import oracle


@oracle("relu", "sigmoid", "tanh", "softplus")
def by_name(c):
    # PyTorch's softplus is linear above a threshold; ours is exact.
    if c.op == "softplus":
        return torch.logaddexp(c.x, torch.zeros_like(c.x))
    return getattr(torch, c.op)(c.x)


@oracle("relu6", "silu", "mish", "softsign", "selu")
def functional(c):
    return getattr(F, c.op)(c.x)


@oracle("hard_sigmoid")
def hard_sigmoid(c):
    return F.hardsigmoid(c.x)


@oracle("hard_swish")
def hard_swish(c):
    return F.hardswish(c.x)


@oracle("log_sigmoid")
def log_sigmoid(c):
    return F.logsigmoid(c.x)


@oracle("leaky_relu", "prelu")
def leaky_relu(c):
    slope = c.slope if c.slope is not None else 0.01
    return torch.where(c.x > 0, c.x, slope * c.x)


@oracle("elu", "celu")
def elu(c):
    alpha = c.alpha if c.alpha is not None else torch.ones((), dtype=c.x.dtype)
    inside = c.x / alpha if c.op == "celu" else c.x
    return torch.where(c.x > 0, c.x, alpha * torch.expm1(torch.clamp(inside, max=0)))


@oracle("gelu")
def gelu(c):
    return F.gelu(c.x, approximate="tanh" if c.approximate in ("tanh", True) else "none")


@oracle("softmax", "log_softmax")
def softmax(c):
    axis = -1 if c.axis is None else c.axis
    return getattr(torch, c.op)(c.x, axis)
