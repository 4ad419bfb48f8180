import numpy as np
import torch

from .oracle import oracle, without
from .shape import dense


def axes_of(c):
    return tuple(range(c.x.dim())) if c.axes is None else tuple(c.axes)


@oracle("sum", "mean")
def total(c):
    dense(c)
    x = c.x
    if c.op == "mean" and not x.is_floating_point():
        raise NotImplementedError
    y = getattr(torch, c.op)(x, dim=axes_of(c), keepdim=c.keepdims) if axes_of(c) else x
    # As NumPy, integers stay what they are there; PyTorch widens them.
    return y if x.is_floating_point() else None


@oracle("max", "min", gradient=False)
def extreme(c):
    dense(c)
    if not axes_of(c):
        return c.x
    return getattr(torch, "a" + c.op)(c.x, dim=axes_of(c), keepdim=c.keepdims)


@oracle("prod")
def prod(c):
    dense(c)
    y = c.x
    for axis in sorted((a % c.x.dim() for a in axes_of(c)), reverse=True):
        y = torch.prod(y, dim=axis, keepdim=c.keepdims)
    return y if c.x.is_floating_point() else None


@oracle("any", "all", gradient=False)
def logical(c):
    dense(c)
    return torch.tensor(getattr(np, c.op)(c.x.numpy() != 0, axis=axes_of(c), keepdims=c.keepdims))


@oracle("count_nonzero", gradient=False)
def count_nonzero(c):
    dense(c)
    return torch.tensor(np.count_nonzero(c.x.numpy(), axis=axes_of(c), keepdims=c.keepdims))


@oracle("argmax", "argmin", gradient=False)
def arg(c):
    dense(c)
    return torch.tensor(getattr(np, c.op)(c.x.numpy(), axis=c.axis, keepdims=c.keepdims))


@oracle("var", "std")
def var(c):
    dense(c)
    reduced = 1
    for axis in axes_of(c):
        reduced *= c.x.shape[axis]
    if not axes_of(c) or reduced <= (c.correction or 0):
        raise NotImplementedError
    y = torch.var(c.x, dim=axes_of(c), correction=c.correction or 0, keepdim=c.keepdims)
    return y if c.op == "var" else torch.sqrt(y)


@oracle("norm")
def norm(c):
    dense(c)
    p = c.p if c.p is not None else 2
    if c.x.numel() and c.x.abs().max() > 1e18:
        raise NotImplementedError  # squares overflow there; here they do not
    return torch.linalg.vector_norm(c.x, ord=float(p), dim=axes_of(c), keepdim=c.keepdims)


def run(c, function):
    """A running result, from the end with reverse, without its own element with exclusive."""
    dense(c)
    x = torch.flip(c.x, [c.axis]) if c.reverse else c.x
    y = function(x)
    return torch.flip(y, [c.axis]) if c.reverse else y


@oracle("cumsum")
def cumsum(c):
    if not c.x.is_floating_point():
        raise NotImplementedError
    return run(c, lambda x: torch.cumsum(x, c.axis) - (x if c.exclusive else 0))


@oracle("cumprod")
def cumprod(c):
    if not c.x.is_floating_point():
        raise NotImplementedError

    def function(x):
        if not c.exclusive:
            return torch.cumprod(x, c.axis)
        ones = torch.ones_like(torch.narrow(x, c.axis, 0, min(1, x.shape[c.axis])))
        shifted = torch.narrow(x, c.axis, 0, max(0, x.shape[c.axis] - 1))
        return torch.cumprod(torch.cat([ones, shifted], c.axis), c.axis)
    return run(c, function)


@oracle("logcumsumexp")
def logcumsumexp(c):
    return run(c, lambda x: torch.logcumsumexp(x, c.axis))


@oracle("cummax", "cummin", gradient=False)
def cumulative_extreme(c):
    return [run(c, lambda x: getattr(torch, c.op)(x, c.axis).values), None]


@oracle("logsumexp")
def logsumexp(c):
    dense(c)
    return torch.logsumexp(c.x, dim=axes_of(c), keepdim=c.keepdims)


@oracle("sum_to")
def sum_to(c):
    dense(c)
    return c.x.sum_to_size(c.like.shape)
