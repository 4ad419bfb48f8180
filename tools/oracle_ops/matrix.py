import torch

from .oracle import oracle
from .shape import dense


@oracle("matmul")
def matmul(c):
    dense(c)
    a, b = c.a, c.b
    if not a.is_floating_point() and a.dtype not in (torch.int64, torch.int32):
        raise NotImplementedError
    a = a.transpose(-1, -2) if c.transpose_a and a.dim() > 1 else a
    b = b.transpose(-1, -2) if c.transpose_b and b.dim() > 1 else b
    return torch.matmul(a, b)


@oracle("matmul_in_order")
def matmul_in_order(c):
    product = c.a @ c.b
    return product if c.start is None else c.start + product


@oracle("matmul_leading")
def matmul_leading(c):
    a = c.a.reshape(-1, c.a.shape[-1]) if c.a.numel() else c.a.new_zeros((0, c.a.shape[-1]))
    b = c.b.reshape(-1, c.b.shape[-1]) if c.b.numel() else c.b.new_zeros((0, c.b.shape[-1]))
    return a.t() @ b


@oracle("dot", "outer")
def vectors(c):
    return getattr(torch, c.op)(c.a, c.b)


@oracle("einsum")
def einsum(c):
    dense(c)
    return torch.einsum(c.equation, *c.inputs)


@oracle("tril", "triu")
def triangle(c):
    return getattr(torch, c.op)(c.x, c.diagonal)


@oracle("trace")
def trace(c):
    return torch.diagonal(c.x, 0, -2, -1).sum(-1)


@oracle("triangular_mask", random=False)
def triangular_mask(c):
    columns = c.rows if c.columns is None else c.columns
    return torch.ones(c.rows, columns, dtype=torch.bool).tril(c.diagonal)


@oracle("causal_mask", random=False)
def causal_mask(c):
    keys = c.queries if c.keys is None else c.keys
    mask = torch.ones(c.queries, keys, dtype=torch.bool).tril(keys - c.queries)
    if c.window is not None:
        mask &= torch.ones(c.queries, keys, dtype=torch.bool).triu(
            keys - c.queries - c.window + 1)
    return mask
