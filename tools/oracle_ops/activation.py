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
    if c.lengths("x") is not None and axis > 0:
        axis -= 1  # a ragged pair of axes is stored as one
    return getattr(torch, c.op)(c.x, axis)


@oracle("gelu_tanh")
def gelu_tanh(c):
    if not torch.isfinite(c.x).all():
        raise NotImplementedError
    return F.gelu(c.x, approximate="tanh")


@oracle("hard_tanh")
def hard_tanh(c):
    low = c.min if c.min is not None else torch.tensor(-1.0, dtype=c.x.dtype)
    high = c.max if c.max is not None else torch.tensor(1.0, dtype=c.x.dtype)
    return torch.minimum(torch.maximum(c.x, low), high)


@oracle("swiglu")
def swiglu(c):
    return F.silu(c.gate) * c.x


@oracle("glu")
def glu(c):
    if not torch.isfinite(c.x).all():
        raise NotImplementedError
    return F.glu(c.x, -1 if c.axis is None else c.axis)
