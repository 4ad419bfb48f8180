import numpy as np
import torch
import torch.nn.functional as F

from .oracle import DTYPES, oracle, without


def dense(c):
    """Ragged values are stored with one axis less; our own tests compare them with dense ones."""
    if any(length is not None for length in c.lengths_by_name.values()):
        raise NotImplementedError


@oracle("concat", "stack")
def join(c):
    dense(c)
    return {"concat": torch.cat, "stack": torch.stack}[c.op](c.inputs, dim=c.axis)


@oracle("diag", "diag_embed", "diagonal")
def diagonal(c):
    if c.op == "diag":
        return torch.diag(c.x, c.offset)
    if c.op == "diag_embed":
        return torch.diag_embed(c.x, c.offset)
    return torch.diagonal(c.x, c.offset, -2, -1)


@oracle("expand")
def expand(c):
    dense(c)
    return c.x.expand(c.shape)


@oracle("expand_like")
def expand_like(c):
    dense(c)
    return c.x.expand(c.like.shape)


@oracle("eye", random=False)
def eye(c):
    columns = c.n if c.m is None else c.m
    return torch.tensor(np.eye(c.n, columns, c.offset)).to(DTYPES[c.dtype])


@oracle("fill", random=False)
def fill(c):
    if c.x is not None:
        value = c.x if c.dtype is None else c.x.to(DTYPES[c.dtype])
        return value.expand(c.shape)
    return torch.full(c.shape, c.value, dtype=DTYPES[c.dtype or "f32"])


@oracle("flatten")
def flatten(c):
    dense(c)
    return torch.flatten(c.x, c.start, c.end)


@oracle("flip")
def flip(c):
    dense(c)
    return torch.flip(c.x, c.axes)


@oracle("full_like", "ones_like", "zeros_like")
def like(c):
    value = {"full_like": c.value, "ones_like": 1, "zeros_like": 0}[c.op]
    return torch.full_like(c.x, value)


@oracle("gather", "index_select")
def gather(c):
    dense(c)
    axis = c.axis % c.x.dim()
    flat = torch.index_select(c.x, axis, c.indices.long().reshape(-1))
    return flat.reshape(c.x.shape[:axis] + c.indices.shape + c.x.shape[axis + 1:])


@oracle("gather_nd")
def gather_nd(c):
    dense(c)
    if c.indices.shape[-1] == 0:
        raise NotImplementedError
    return c.x[tuple(c.indices.long().unbind(-1))]


@oracle("index_add")
def index_add(c):
    return torch.index_add(c.x, c.axis, c.indices.long(), c.updates)


@oracle("iota", random=False)
def iota(c):
    return torch.tensor([c.start + i * c.step for i in range(c.size)]).to(DTYPES[c.dtype])


@oracle("linspace", random=False)
def linspace(c):
    return torch.linspace(c.start, c.stop, c.size, dtype=torch.float64).to(DTYPES[c.dtype])


@oracle("masked_fill")
def masked_fill(c):
    return torch.where(c.mask, c.value, c.x)


@oracle("meshgrid")
def meshgrid(c):
    if len({v.dtype for v in c.inputs}) > 1:
        raise NotImplementedError
    return list(torch.meshgrid(*c.inputs, indexing=c.indexing))


@oracle("one_hot")
def one_hot(c):
    dense(c)
    hot = F.one_hot(c.indices.long(), c.size).to(DTYPES[c.dtype])
    return hot.movedim(-1, c.axis)


@oracle("pad", gradient=False)
def pad(c):
    dense(c)
    if c.x.dim() == 0:
        return c.x
    mode = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}[c.mode]
    widths = list(zip(c.before, c.after))
    if mode == "constant":
        return torch.tensor(np.pad(c.x.numpy(), widths, constant_values=c.value))
    if 0 in c.x.shape:
        raise NotImplementedError
    return torch.tensor(np.pad(c.x.numpy(), widths, mode=mode))


@oracle("pixel_shuffle", "pixel_unshuffle")
def pixel_shuffle(c):
    if c.x.numel() == 0:
        raise NotImplementedError
    return getattr(F, c.op)(c.x, c.factor)


@oracle("place")
def place(c):
    dense(c)
    axis = c.axis % c.x.dim()
    begin = int(c.at) if c.at is not None else c.begin
    begin = begin + c.like.shape[axis] if begin < 0 else begin
    y = torch.zeros(c.like.shape, dtype=c.x.dtype)
    where = [slice(None)] * c.x.dim()
    where[axis] = slice(begin, begin + c.x.shape[axis])
    y = y.clone()
    y[tuple(where)] = c.x
    return y


@oracle("put_along_add")
def put_along_add(c):
    axis = c.axis % c.updates.dim()
    shape = list(c.updates.shape)
    shape[axis] = c.size
    return torch.zeros(shape, dtype=c.updates.dtype).scatter_add(axis, c.indices.long(), c.updates)


@oracle("repeat")
def repeat(c):
    dense(c)
    return torch.repeat_interleave(c.x, c.count, dim=c.axis)


@oracle("reshape")
def reshape(c):
    dense(c)
    return c.x.reshape(c.shape)


@oracle("roll")
def roll(c):
    dense(c)
    return torch.roll(c.x, c.shifts, c.axes)


@oracle("scatter")
def scatter(c):
    axis = c.axis % c.x.dim()
    y = c.x.movedim(axis, 0).clone()
    updates = c.updates.reshape(c.x.shape[:axis] + (-1,) + c.x.shape[axis + 1:]).movedim(axis, 0)
    for k, index in enumerate(c.indices.long().reshape(-1).tolist()):
        y = torch.cat([y[:index], updates[k:k + 1], y[index + 1:]])
    return y.movedim(0, axis)


@oracle("scatter_add")
def scatter_add(c):
    dense(c)
    axis = c.axis % (c.x.dim() - c.indices.dim() + 1)
    flat = c.x.reshape(c.x.shape[:axis] + (c.indices.numel(),)
                       + c.x.shape[axis + c.indices.dim():])
    shape = flat.shape[:axis] + (c.size,) + flat.shape[axis + 1:]
    return torch.zeros(shape, dtype=c.x.dtype).index_add(axis, c.indices.long().reshape(-1), flat)


@oracle("scatter_nd_add")
def scatter_nd_add(c):
    dense(c)
    if c.indices.shape[-1] == 0:
        raise NotImplementedError
    return torch.zeros(c.shape, dtype=c.updates.dtype).index_put(
        tuple(c.indices.long().unbind(-1)), c.updates, accumulate=True)


@oracle("slice")
def slice_(c):
    dense(c)
    axis = c.axis % c.x.dim()
    if c.at is not None:
        return torch.narrow(c.x, axis, int(c.at), c.size)
    where = [slice(None)] * c.x.dim()
    where[axis] = slice(c.begin, c.end)
    return c.x[tuple(where)]


@oracle("strided_slice")
def strided_slice(c):
    dense(c)
    if c.size is not None:
        raise NotImplementedError
    count = len(c.begin or c.end or c.step or c.axes)
    axes = c.axes or list(range(count))
    y = c.x
    for k, axis in enumerate(axes):
        step = c.step[k] if c.step else 1
        keep = range(y.shape[axis])[slice(c.begin[k] if c.begin else None,
                                          c.end[k] if c.end else None, step)]
        y = torch.index_select(y, axis, torch.tensor(list(keep), dtype=torch.int64))
    return y


@oracle("split")
def split(c):
    dense(c)
    if c.sizes:
        return list(torch.split(c.x, c.sizes, dim=c.axis))
    raise NotImplementedError  # the number of parts is the caller's


@oracle("squeeze")
def squeeze(c):
    dense(c)
    return c.x.squeeze() if c.axes is None else c.x.squeeze(tuple(c.axes))


@oracle("unsqueeze")
def unsqueeze(c):
    dense(c)
    return torch.tensor(np.expand_dims(c.x.detach().numpy(), tuple(c.axes))) \
        if not c.x.requires_grad else c.x.reshape(
            np.expand_dims(c.x.detach().numpy(), tuple(c.axes)).shape)


@oracle("stop_gradient", gradient=False)
def stop_gradient(c):
    return c.x


@oracle("take_along")
def take_along(c):
    dense(c)
    return torch.take_along_dim(c.x, c.indices.long(), dim=c.axis)


@oracle("tile")
def tile(c):
    dense(c)
    return torch.tile(c.x, c.counts)


@oracle("transpose")
def transpose(c):
    dense(c)
    return c.x.permute(c.perm if c.perm is not None else list(reversed(range(c.x.dim()))))


@oracle("unstack")
def unstack(c):
    dense(c)
    return list(torch.unbind(c.x, c.axis))


without("part of a gradient, which is compared with its op", "diagonal_place", "strided_place")
