import torch

from .oracle import DTYPES, oracle


@oracle("abs", "cos", "erf", "exp", "floor", "log", "log1p", "neg", "rsqrt", "sin", "sqrt", "square",
        "ceil", "round", "trunc", "exp2", "expm1", "log2", "log10", "tan", "asin", "acos", "atan",
        "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "reciprocal")
def unary(c):
    return getattr(torch, c.op)(c.x)


@oracle("sign")
def sign(c):
    return torch.where(torch.isnan(c.x), c.x, torch.sign(c.x)) if c.x.is_floating_point() \
        else torch.sign(c.x)


@oracle("add", "sub", "mul", "maximum", "minimum", "atan2", "logaddexp", "hypot")
def binary(c):
    return getattr(torch, c.op)(c.inputs[0], c.inputs[1])


@oracle("div")
def div(c):
    a, b = c.inputs
    if a.is_floating_point():
        return a / b
    if a.dtype == torch.uint8 or (b == 0).any():
        raise NotImplementedError
    return torch.div(a, b, rounding_mode="floor")


@oracle("pow")
def power(c):
    a, b = c.inputs
    if not a.is_floating_point() and (b < 0).any():
        raise NotImplementedError
    return torch.pow(a, b)


@oracle("cast", gradient=False)
def cast(c):
    # Conversions that PyTorch leaves undefined are not its word against ours.
    target = DTYPES[c.dtype]
    if c.x.is_floating_point() and not target.is_floating_point and target != torch.bool:
        info = torch.iinfo(target)
        if c.dtype == "u64" or not torch.isfinite(c.x).all() or (c.x < info.min).any() or (
                c.x > info.max).any():
            raise NotImplementedError
    return c.x.to(target)


@oracle("clip")
def clip(c):
    y = c.x if c.min is None else torch.maximum(c.x, c.min)
    return y if c.max is None else torch.minimum(y, c.max)


@oracle("lerp")
def lerp(c):
    return c.a + c.weight * (c.b - c.a)


@oracle("squared_difference")
def squared_difference(c):
    if not c.inputs[0].is_floating_point():
        raise NotImplementedError
    return (c.inputs[0] - c.inputs[1]) ** 2


@oracle("mod", "floor_div")
def division(c):
    a, b = c.inputs
    if not a.is_floating_point() and (a.dtype == torch.uint8 or (b == 0).any()):
        raise NotImplementedError
    if a.is_floating_point() and not (torch.isfinite(a).all() and torch.isfinite(b).all()
                                      and (b != 0).all()):
        raise NotImplementedError  # NumPy and PyTorch disagree with each other there
    return torch.remainder(a, b) if c.op == "mod" else torch.div(a, b, rounding_mode="floor")


@oracle("bitwise_and", "bitwise_or", "bitwise_xor")
def bits(c):
    return getattr(torch, c.op)(c.inputs[0], c.inputs[1])


@oracle("bitwise_not")
def bitwise_not(c):
    return torch.bitwise_not(c.x)


@oracle("shift_left", "shift_right")
def shift(c):
    a, b = c.inputs
    width = torch.iinfo(a.dtype).bits
    if (b < 0).any() or (b >= width).any():
        raise NotImplementedError
    return a << b if c.op == "shift_left" else a >> b
