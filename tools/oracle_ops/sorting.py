import numpy as np
import torch

from .oracle import oracle
from .shape import dense


@oracle("sort")
def sort(c):
    dense(c)
    y = torch.sort(c.x, dim=c.axis, descending=c.descending, stable=True)
    return [y.values, y.indices]


@oracle("argsort", gradient=False)
def argsort(c):
    dense(c)
    return torch.sort(c.x, dim=c.axis, descending=c.descending, stable=True).indices


@oracle("topk")
def topk(c):
    dense(c)
    if not c.sorted:
        raise NotImplementedError  # the order is ours
    y = torch.sort(c.x, dim=c.axis, descending=c.largest, stable=True)
    return [torch.narrow(y.values, c.axis, 0, c.k), torch.narrow(y.indices, c.axis, 0, c.k)]


@oracle("unique", gradient=False)
def unique(c):
    values, inverse, counts = np.unique(c.x.numpy(), return_inverse=True, return_counts=True)
    return [torch.tensor(values), torch.tensor(inverse.reshape(c.x.shape)), torch.tensor(counts)]


@oracle("bincount", gradient=False)
def bincount(c):
    weights = None if c.weights is None else c.weights.reshape(-1)
    return torch.bincount(c.x.long().reshape(-1), weights, c.size)


@oracle("histogram", gradient=False)
def histogram(c):
    x = c.x.double().numpy()
    return torch.tensor(np.histogram(x[~np.isnan(x)], bins=c.bins, range=(c.low, c.high))[0])


@oracle("median", "quantile", gradient=False)
def quantile(c):
    dense(c)
    q = 0.5 if c.op == "median" else c.q
    if not torch.isfinite(c.x).all():
        raise NotImplementedError
    return torch.tensor(np.quantile(c.x.numpy(), q, axis=c.axis, keepdims=c.keepdims))


@oracle("searchsorted", gradient=False, random=False)
def searchsorted(c):
    side = "right" if c.right else "left"
    if c.sorted.dim() == 1:
        return torch.tensor(np.searchsorted(c.sorted.numpy(), c.x.numpy(), side))
    return torch.searchsorted(c.sorted.contiguous(), c.x.contiguous(), right=c.right)


@oracle("nonzero", gradient=False)
def nonzero(c):
    return torch.nonzero(c.x)
