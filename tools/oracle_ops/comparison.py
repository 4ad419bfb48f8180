import numpy as np
import torch

from .oracle import oracle

NAMES = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
         "greater_equal": "ge"}


@oracle(*NAMES)
def compare(c):
    return getattr(torch, NAMES[c.op])(c.inputs[0], c.inputs[1])


@oracle("logical_and", "logical_or", "logical_xor")
def logical(c):
    return getattr(torch, c.op)(c.inputs[0], c.inputs[1])


@oracle("logical_not", "isfinite", "isnan", "isinf")
def unary(c):
    return getattr(torch, c.op)(c.x)


@oracle("all_finite")
def all_finite(c):
    return torch.stack([torch.isfinite(x).all() for x in c.inputs] or [torch.tensor(True)]).all()


@oracle("where")
def where(c):
    return torch.where(c.condition, c.a, c.b)


@oracle("isclose")
def isclose(c):
    rtol = 1e-5 if c.rtol is None else c.rtol.numpy()
    atol = 1e-8 if c.atol is None else c.atol.numpy()
    return torch.tensor(np.isclose(c.a.numpy(), c.b.numpy(), rtol=rtol, atol=atol))
