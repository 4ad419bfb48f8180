"""Convolution and pooling. Padding is put around x first, so that all of its forms are one."""

import torch
import torch.nn.functional as F

from .oracle import oracle, without


def per_axis(value, rank):
    return [value] * rank if isinstance(value, (int, float)) else list(value)


def paddings(c, rank, kernel):
    """(before, after) by axis."""
    dilation = per_axis(c.dilation, rank)
    if c.padding == "valid":
        return [(0, 0)] * rank
    if c.padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel)]
        return [(t // 2, t - t // 2) for t in total]
    given = per_axis(c.padding, rank)
    if len(given) == 2 * rank:
        return list(zip(given[:rank], given[rank:]))
    return [(p, p) for p in given]


def pad(x, pads, value=0.0):
    flat = [p for pair in reversed(pads) for p in pair]
    return F.pad(x, flat, value=value)


@oracle("conv1d", "conv2d", "conv3d")
def conv(c):
    rank = c.x.dim() - 2
    stride = per_axis(c.stride, rank)
    if c.padding == "same" and any(s != 1 for s in stride):
        raise NotImplementedError
    x = pad(c.x, paddings(c, rank, c.w.shape[2:]))
    return getattr(F, c.op)(x, c.w, c.bias, stride=stride, dilation=per_axis(c.dilation, rank),
                            groups=c.groups)


@oracle("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(c):
    rank = c.x.dim() - 2
    pads = paddings(c, rank, c.w.shape[2:])
    if c.padding in ("same", "valid") or any(a != b for a, b in pads):
        raise NotImplementedError
    return getattr(F, c.op)(c.x, c.w, c.bias, stride=per_axis(c.stride, rank),
                            padding=[a for a, _ in pads], dilation=per_axis(c.dilation, rank),
                            groups=c.groups, output_padding=per_axis(c.output_padding, rank))


def pool_arguments(c):
    rank = c.x.dim() - 2
    kernel = per_axis(c.kernel, rank)
    stride = kernel if c.stride is None else per_axis(c.stride, rank)
    pads = paddings(c, rank, kernel)
    if c.padding in ("same", "valid") or any(a != b for a, b in pads):
        raise NotImplementedError
    return rank, kernel, stride, [a for a, _ in pads]


@oracle("max_pool")
def max_pool(c):
    rank, kernel, stride, padding = pool_arguments(c)
    return getattr(F, f"max_pool{rank}d")(c.x, kernel, stride, padding,
                                          per_axis(c.dilation, rank), ceil_mode=c.ceil_mode)


@oracle("avg_pool")
def avg_pool(c):
    rank, kernel, stride, padding = pool_arguments(c)
    if any(d != 1 for d in per_axis(c.dilation, rank)):
        raise NotImplementedError
    return getattr(F, f"avg_pool{rank}d")(c.x, kernel, stride, padding, c.ceil_mode,
                                          c.count_include_pad)


@oracle("adaptive_avg_pool", "adaptive_max_pool")
def adaptive(c):
    return getattr(F, f"{c.op}{c.x.dim() - 2}d")(c.x, tuple(c.size))


@oracle("global_avg_pool")
def global_avg_pool(c):
    return c.x.mean(dim=tuple(range(2, c.x.dim())), keepdim=bool(c.keepdims))


@oracle("global_max_pool")
def global_max_pool(c):
    return c.x.amax(dim=tuple(range(2, c.x.dim())), keepdim=bool(c.keepdims))


without("part of a gradient, which is compared with its op", "max_pool_pick",
        "adaptive_max_pool_pick")


@oracle("interpolate")
def interpolate(c):
    rank = c.x.dim() - 2
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[rank] if c.mode != "nearest" else "nearest"
    if c.x.numel() == 0 or (c.size is not None and c.scale is not None):
        raise NotImplementedError
    size = None if c.size is None else tuple(c.size)
    scale = None if c.scale is None else tuple(float(s) for s in per_axis(c.scale, rank))
    if scale and mode == "nearest" and any(
            s != 2 and int(n * s) == 2 * n for s, n in zip(scale, c.x.shape[2:])):
        # PyTorch's gradient takes other places than its result there; ours is compared with
        # finite differences.
        raise NotImplementedError
    align = None if mode == "nearest" else c.align_corners
    return F.interpolate(c.x, size=size, scale_factor=scale, mode=mode, align_corners=align)


def windows(c, rank):
    kernel = per_axis(c.kernel, rank)
    pads = paddings(c, rank, kernel)
    if rank != 2 or c.padding in ("same", "valid") or any(a != b for a, b in pads):
        raise NotImplementedError
    return dict(kernel_size=kernel, dilation=per_axis(c.dilation, rank),
                padding=[a for a, _ in pads], stride=per_axis(c.stride, rank))


@oracle("unfold")
def unfold(c):
    return F.unfold(c.x, **windows(c, c.x.dim() - 2))


@oracle("fold")
def fold(c):
    return F.fold(c.columns, tuple(c.size), **windows(c, len(c.size)))
