import torch
import torch.nn.functional as F

from .oracle import oracle, without


@oracle("embedding", gradient=False)
def embedding(c):
    return c.w[c.ids.long()]


@oracle("embedding_bag", gradient=False)
def embedding_bag(c):
    def one(ids, weights):
        ids = ids.long()
        if c.padding is not None:
            keep = ids != c.padding
            ids, weights = ids[keep], None if weights is None else weights[keep]
        if len(ids) == 0:
            return torch.zeros(c.w.shape[1:], dtype=c.w.dtype)
        rows = c.w[ids]
        if c.pool == "max":
            return rows.max(0).values
        shape = (-1,) + (1,) * (rows.dim() - 1)
        total = rows.sum(0) if weights is None else (rows * weights.reshape(shape)).sum(0)
        if c.pool == "mean":
            return total / (len(ids) if weights is None else weights.sum())
        if c.pool == "sqrt":
            return total / (len(ids) ** 0.5 if weights is None
                            else torch.sqrt((weights * weights).sum()))
        return total
    lengths = c.lengths("ids")
    if lengths is not None:
        ids = torch.split(c.ids, lengths)
        weights = torch.split(c.weights, lengths) if c.weights is not None else [None] * len(ids)
        return torch.stack([one(i, w) for i, w in zip(ids, weights)])
    if c.ids.dim() != 2 or c.ids.shape[0] == 0:
        raise NotImplementedError
    weights = c.weights if c.weights is not None else [None] * len(c.ids)
    return torch.stack([one(i, w) for i, w in zip(c.ids, weights)])


@oracle("factorization_machine")
def factorization_machine(c):
    x = c.x if c.more is None else torch.cat([c.x, c.more], -2)
    return 0.5 * (x.sum(-2) ** 2 - (x ** 2).sum(-2)).sum(-1)


@oracle("pairwise_dot")
def pairwise_dot(c):
    fields = c.x.shape[-2]
    products = c.x @ c.x.transpose(-1, -2)
    rows, columns = torch.tril_indices(fields, fields, 0 if c.self_interaction else -1)
    return products[..., rows, columns]


@oracle("cross")
def cross(c):
    return c.x0 * (c.x * c.w).sum(-1, keepdim=True) + c.b + c.x


@oracle("cross_combine")
def cross_combine(c):
    return c.x0 * (c.h + c.b) + c.x


without("a hash of our own, frozen by a golden test", "hash_ids", "hash_cross")
