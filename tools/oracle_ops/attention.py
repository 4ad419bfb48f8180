import math

import torch

from .oracle import DTYPES, oracle


def plain_attention(q, k, v, mask, scale, causal):
    """[…, T, D]: the scores are simply stored."""
    if q.dim() == 4 and k.shape[1] != q.shape[1]:
        repeats = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    scores = q @ k.transpose(-1, -2) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool \
            else scores + mask
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
        scores = scores.masked_fill(~seen, -math.inf)
    nothing = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)
    return weights @ v, torch.logsumexp(scores, -1)


@oracle("attention", tolerance=3)
def attention(c):
    if c.k.shape[-2] == 0:
        raise NotImplementedError
    scale = 1 / math.sqrt(c.q.shape[-1]) if c.scale is None else c.scale
    lengths = c.lengths("q")
    if lengths is None:
        y, sums = plain_attention(c.q, c.k, c.v, c.mask, scale, c.causal)
        # Without a key that is seen there is no sum to compare.
        if torch.isinf(sums).any():
            raise NotImplementedError
        return [y, sums]
    if c.mask is not None:
        raise NotImplementedError
    parts, all_sums = [], []
    for q, k, v in zip(torch.split(c.q, lengths), torch.split(c.k, c.lengths("k")),
                       torch.split(c.v, c.lengths("v"))):
        if q.dim() == 3:  # [T, H, D]
            y, sums = plain_attention(q.transpose(0, 1).unsqueeze(0),
                                      k.transpose(0, 1).unsqueeze(0),
                                      v.transpose(0, 1).unsqueeze(0), None, scale, c.causal)
            parts.append(y[0].transpose(0, 1))
            all_sums.append(sums[0].transpose(0, 1))
        else:
            y, sums = plain_attention(q, k, v, None, scale, c.causal)
            parts.append(y)
            all_sums.append(sums)
    return [torch.cat(parts), torch.cat(all_sums)]


@oracle("rotary")
def rotary(c):
    if any(length is not None for length in c.lengths_by_name.values()):
        raise NotImplementedError
    width = c.x.shape[-1] if c.width is None else c.width
    x, rest = c.x[..., :width], c.x[..., width:]
    steps = c.x.shape[-2]
    positions = torch.arange(steps) if c.positions is None else c.positions
    angles = positions.double().unsqueeze(-1) / c.base ** (
        torch.arange(0, width, 2, dtype=torch.float64) / width)
    if c.positions is not None and c.positions.dim() == 2 and c.x.dim() == 4:
        angles = angles.unsqueeze(1)
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    sin = -sin if c.inverse else sin
    if c.interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        y = torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    else:
        a, b = x[..., :width // 2], x[..., width // 2:]
        y = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    return torch.cat([y, rest], -1)


@oracle("sinusoidal_positions", random=False)
def sinusoidal_positions(c):
    position = torch.arange(c.length, dtype=torch.float64).unsqueeze(1)
    columns = torch.arange(c.width)
    angles = position / c.base ** ((columns // 2 * 2).double() / c.width)
    return torch.where(columns % 2 == 0, torch.sin(angles), torch.cos(angles)).to(DTYPES[c.dtype])


@oracle("alibi_bias", random=False)
def alibi_bias(c):
    keys = c.queries if c.keys is None else c.keys
    if c.heads == 0:
        raise NotImplementedError
    power = 2 ** int(math.log2(c.heads))
    slopes = [2.0 ** (-8.0 * (h + 1) / power) for h in range(power)]
    slopes += [2.0 ** (-4.0 * (2 * h + 1) / power) for h in range(c.heads - power)]
    slopes = torch.tensor(slopes, dtype=torch.float64)
    distance = (torch.arange(c.queries).unsqueeze(1) + keys - c.queries
                - torch.arange(keys).unsqueeze(0)).abs()
    return (-slopes[:, None, None] * distance).to(DTYPES[c.dtype])
