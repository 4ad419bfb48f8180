import torch
import torch.nn.functional as F

from .oracle import oracle


@oracle("batch_norm")
def batch_norm(c):
    axes = [a for a in range(c.x.dim()) if a != 1]
    shape = [1, -1] + [1] * (c.x.dim() - 2)
    mean, var = c.mean, c.var
    if c.training:
        if c.x.numel() == 0:
            raise NotImplementedError
        mean, var = c.x.mean(axes), c.x.var(axes, unbiased=False)
    y = (c.x - mean.reshape(shape)) / torch.sqrt(var.reshape(shape) + c.eps)
    return [y * c.scale.reshape(shape) + c.offset.reshape(shape), mean, var]


@oracle("layer_norm")
def layer_norm(c):
    return F.layer_norm(c.x, c.scale.shape, c.scale, c.offset, c.eps)


@oracle("rms_norm")
def rms_norm(c):
    axes = list(range(-c.scale.dim(), 0))
    return c.x * torch.rsqrt((c.x * c.x).mean(axes, keepdim=True) + c.eps) * c.scale


@oracle("group_norm")
def group_norm(c):
    return F.group_norm(c.x, c.groups or c.x.shape[1], c.scale, c.offset, c.eps)


@oracle("instance_norm")
def instance_norm(c):
    return F.group_norm(c.x, c.x.shape[1], c.scale, c.offset, c.eps)


@oracle("l2_normalize")
def l2_normalize(c):
    norm = torch.sqrt((c.x * c.x).sum(c.axis, keepdim=True))
    if (norm <= c.eps).any():
        raise NotImplementedError
    return c.x / norm


@oracle("local_response_norm")
def local_response_norm(c):
    if c.x.numel() == 0:
        raise NotImplementedError
    if c.x.dim() == 2:
        y = F.local_response_norm(c.x.unsqueeze(-1), c.size, c.alpha, c.beta, c.k)
        return y.squeeze(-1)
    return F.local_response_norm(c.x, c.size, c.alpha, c.beta, c.k)
