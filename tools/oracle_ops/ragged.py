"""Ragged values: sequence by sequence with Python's own lists of tensors."""

import torch

from .oracle import oracle


def pieces(values, lengths):
    return list(torch.split(values, lengths)) if lengths else []


def joined(parts, like):
    return torch.cat(parts) if parts else like[:0]


def sequences(c, name):
    return pieces(c.by_name[name], c.lengths(name))


@oracle("ragged", "ragged_from_offsets", "ragged_like", "ragged_values")
def same_values(c):
    return c.inputs[0]


@oracle("ragged_lengths")
def ragged_lengths(c):
    return torch.tensor(c.lengths("x"))


@oracle("ragged_offsets")
def ragged_offsets(c):
    return torch.tensor([0] + c.lengths("x")).cumsum(0)


@oracle("ragged_pool")
def ragged_pool(c):
    def one(x):
        if len(x) == 0:
            return torch.zeros(x.shape[1:], dtype=x.dtype)
        return {"sum": lambda: x.sum(0), "mean": lambda: x.mean(0),
                "sqrt": lambda: x.sum(0) / len(x) ** 0.5, "max": lambda: x.max(0).values,
                "first": lambda: x[0], "last": lambda: x[-1]}[c.pool]()
    parts = [one(x) for x in sequences(c, "x")]
    return torch.stack(parts) if parts else c.x[:0]


@oracle("ragged_softmax")
def ragged_softmax(c):
    return joined([torch.softmax(x, 0) for x in sequences(c, "x")], c.x)


@oracle("ragged_expand")
def ragged_expand(c):
    parts = [c.x[b].expand((n,) + c.x.shape[1:]) for b, n in enumerate(c.lengths("like"))]
    return joined(parts, c.x)


@oracle("ragged_reverse")
def ragged_reverse(c):
    return joined([torch.flip(x, [0]) for x in sequences(c, "x")], c.x)


@oracle("ragged_cumsum")
def ragged_cumsum(c):
    def one(x):
        x = torch.flip(x, [0]) if c.reverse else x
        y = torch.cumsum(x, 0) - (x if c.exclusive else 0)
        return torch.flip(y, [0]) if c.reverse else y
    return joined([one(x) for x in sequences(c, "x")], c.x)


@oracle("ragged_slice")
def ragged_slice(c):
    parts = []
    for b, x in enumerate(sequences(c, "x")):
        begin = int(c.begins[b]) if c.begins is not None else c.begin
        end = int(c.ends[b]) if c.ends is not None else c.end
        parts.append(x[begin:end])
    return joined(parts, c.x)


@oracle("ragged_pad")
def ragged_pad(c):
    rows = []
    for x in sequences(c, "x"):
        x = x[:c.length]
        fill = torch.full((c.length - len(x),) + x.shape[1:], c.value, dtype=x.dtype)
        rows.append(torch.cat([x, fill]))
    return torch.stack(rows)


@oracle("ragged_unpad")
def ragged_unpad(c):
    empty = c.x.reshape((-1,) + c.x.shape[2:]) if c.x.numel() else c.x.new_zeros(
        (0,) + c.x.shape[2:])
    return joined([c.x[b, :n] for b, n in enumerate(c.by_name["lengths"].tolist())], empty)


@oracle("ragged_unpad_like")
def ragged_unpad_like(c):
    parts = []
    for b, n in enumerate(c.lengths("like")):
        x = c.x[b, :n]
        parts.append(torch.cat([x, torch.zeros((n - len(x),) + x.shape[1:], dtype=x.dtype)]))
    return joined(parts, c.x)


@oracle("ragged_take")
def ragged_take(c):
    parts = []
    if c.lengths("index") is not None:
        for x, index in zip(sequences(c, "x"), sequences(c, "index")):
            parts.append(x[index.long()])
        return joined(parts, c.x)
    parts = [x[index.long()] for x, index in zip(sequences(c, "x"), c.index)]
    return torch.stack(parts) if parts else None


@oracle("ragged_gather")
def ragged_gather(c):
    all_of_them = sequences(c, "x")
    return joined([all_of_them[int(k)] for k in c.rows], c.x)


@oracle("ragged_concat")
def ragged_concat(c):
    raise NotImplementedError  # any number of ragged operands: see our own tests


@oracle("ragged_drop", gradient=False)
def ragged_drop(c):
    raise NotImplementedError
