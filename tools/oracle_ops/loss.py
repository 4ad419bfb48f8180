import torch
import torch.nn.functional as F

from .oracle import oracle


def given(value, default, like):
    return torch.tensor(default, dtype=like.dtype) if value is None else value


@oracle("mse")
def mse(c):
    return F.mse_loss(*torch.broadcast_tensors(c.prediction, c.target), reduction="none")


@oracle("l1")
def l1(c):
    if not c.prediction.is_floating_point():
        raise NotImplementedError  # PyTorch's difference of unsigned numbers wraps around
    return F.l1_loss(*torch.broadcast_tensors(c.prediction, c.target), reduction="none")


@oracle("huber")
def huber(c):
    error = (c.prediction - c.target).abs()
    delta = given(c.delta, 1.0, error)
    return torch.where(error <= delta, 0.5 * error * error, delta * (error - 0.5 * delta))


@oracle("smooth_l1")
def smooth_l1(c):
    error = (c.prediction - c.target).abs()
    beta = given(c.beta, 1.0, error)
    safe = torch.where(beta == 0, torch.ones_like(beta), beta)
    return torch.where(error < beta, 0.5 * error * error / safe, error - 0.5 * beta)


@oracle("binary_cross_entropy", gradient=False)
def binary_cross_entropy(c):
    # Ours clips the probability, and its gradient is that of the clipped one.
    p = c.p.clamp(1e-7, 1 - 1e-7)
    weight, positive = given(c.weight, 1.0, p), given(c.pos_weight, 1.0, p)
    return -weight * (positive * c.target * torch.log(p) + (1 - c.target) * torch.log1p(-p))


@oracle("binary_cross_entropy_logits")
def binary_cross_entropy_logits(c):
    x, target = torch.broadcast_tensors(c.inputs[0], c.inputs[1])
    if not (torch.isfinite(x).all() and torch.isfinite(target).all()):
        raise NotImplementedError
    return F.binary_cross_entropy_with_logits(x, target, weight=c.weight,
                                              pos_weight=c.pos_weight, reduction="none")


@oracle("softmax_cross_entropy")
def softmax_cross_entropy(c):
    classes = c.logits.shape[-1]
    logits = c.logits.reshape(-1, classes)
    if not torch.isfinite(logits).all():
        raise NotImplementedError  # 0 times infinity is NaN there; here it does not matter
    if c.labels.is_floating_point():
        y = F.cross_entropy(logits, c.labels.reshape(-1, classes), weight=c.weights,
                            label_smoothing=c.label_smoothing, reduction="none")
    else:
        ignore = -100 if c.ignore_index is None else c.ignore_index
        y = F.cross_entropy(logits, c.labels.reshape(-1).long(), weight=c.weights,
                            ignore_index=ignore, label_smoothing=c.label_smoothing,
                            reduction="none")
    return y.reshape(c.logits.shape[:-1])


@oracle("nll")
def nll(c):
    classes = c.log_probs.shape[-1]
    ignore = -100 if c.ignore_index is None else c.ignore_index
    y = F.nll_loss(c.log_probs.reshape(-1, classes), c.labels.reshape(-1).long(), weight=c.weights,
                   ignore_index=ignore, reduction="none")
    return y.reshape(c.log_probs.shape[:-1])


@oracle("hinge")
def hinge(c):
    return torch.relu(given(c.margin, 1.0, c.score) - c.label * c.score)


@oracle("squared_hinge")
def squared_hinge(c):
    return torch.relu(given(c.margin, 1.0, c.score) - c.label * c.score) ** 2


@oracle("margin_ranking")
def margin_ranking(c):
    return torch.relu(given(c.margin, 0.0, c.a) - c.target * (c.a - c.b))


@oracle("multi_margin")
def multi_margin(c):
    classes = c.scores.shape[-1]
    if torch.isnan(c.scores).any():
        raise NotImplementedError  # PyTorch loses NaNs in a comparison
    y = F.multi_margin_loss(c.scores.reshape(-1, classes), c.labels.reshape(-1).long(), p=c.p,
                            margin=c.margin, reduction="none")
    return y.reshape(c.scores.shape[:-1])


@oracle("pairwise_rank")
def pairwise_rank(c):
    target = given(c.target, 1.0, c.a)
    x, target = torch.broadcast_tensors(c.a - c.b, target)
    return F.binary_cross_entropy_with_logits(x, target, reduction="none")


@oracle("contrastive")
def contrastive(c):
    margin = given(c.margin, 1.0, c.distance)
    apart = torch.relu(margin - c.distance)
    return c.label * c.distance ** 2 + (1 - c.label) * apart ** 2


@oracle("triplet")
def triplet(c):
    return F.triplet_margin_loss(c.anchor, c.positive, c.negative, margin=c.margin, eps=c.eps,
                                 reduction="none")


@oracle("cosine_embedding")
def cosine_embedding(c):
    if c.a.shape[-1] == 0:
        raise NotImplementedError
    dot = (c.a * c.b).sum(-1)
    norms = torch.sqrt(((c.a * c.a).sum(-1) + c.eps) * ((c.b * c.b).sum(-1) + c.eps))
    cosine = dot / norms
    return torch.where(c.target > 0, 1 - cosine, torch.relu(cosine - c.margin))


@oracle("kl")
def kl(c):
    if (c.p < 0).any() or not torch.isfinite(c.log_q).all():
        raise NotImplementedError
    positive = torch.where(c.p == 0, torch.ones_like(c.p), c.p)
    return torch.where(c.p == 0, torch.zeros_like(c.p), c.p * (torch.log(positive) - c.log_q))


@oracle("poisson_nll")
def poisson_nll(c):
    return F.poisson_nll_loss(*torch.broadcast_tensors(c.log_rate, c.target), reduction="none")


@oracle("gaussian_nll", gradient=False)
def gaussian_nll(c):
    # PyTorch's gradient at a variance below eps is another than ours, which still grows.
    eps = given(c.eps, 1e-6, c.mean)
    variance = torch.maximum(c.variance, eps)
    return 0.5 * (torch.log(variance) + (c.mean - c.target) ** 2 / variance)


@oracle("focal")
def focal(c):
    alpha, gamma = given(c.alpha, 0.25, c.x), given(c.gamma, 2.0, c.x)
    x, target = torch.broadcast_tensors(c.x, c.target)
    if not torch.isfinite(x).all():
        raise NotImplementedError
    zero = torch.zeros_like(x)
    loss = torch.logaddexp(-x, zero) * target + torch.logaddexp(x, zero) * (1 - target)
    wrong = F.logsigmoid(-x) * target + F.logsigmoid(x) * (1 - target)
    weight = alpha * target + (1 - alpha) * (1 - target)
    return weight * torch.exp(gamma * wrong) * loss


@oracle("softmax_focal")
def softmax_focal(c):
    log_p = torch.log_softmax(c.logits, -1)
    labels = c.labels.long()
    counted = torch.ones_like(labels, dtype=torch.bool)
    if c.ignore_index is not None:
        counted = labels != c.ignore_index
    safe = torch.where(counted, labels, torch.zeros_like(labels))
    mine = log_p.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    weight = torch.ones_like(mine) if c.weights is None else c.weights[safe]
    y = weight * (1 - mine.exp()) ** c.gamma * -mine
    return torch.where(counted, y, torch.zeros_like(y))


@oracle("smooth_labels", gradient=False)
def smooth_labels(c):
    classes = c.like.shape[-1]
    if c.labels.is_floating_point():
        q = c.labels
    else:
        labels = c.labels.long()
        counted = torch.ones_like(labels, dtype=torch.bool)
        if c.ignore_index is not None:
            counted = labels != c.ignore_index
        safe = torch.where(counted, labels, torch.zeros_like(labels))
        q = F.one_hot(safe, classes).to(c.like.dtype)
        y = (1 - c.label_smoothing) * q + c.label_smoothing / classes
        return y * counted.unsqueeze(-1)
    return (1 - c.label_smoothing) * q + c.label_smoothing / classes


@oracle("ctc_loss", gradient=False, tolerance=10)
def ctc_loss(c):
    # PyTorch's gradient is right only behind its own log_softmax; ours is the derivative, which
    # our tests compare with finite differences.
    if c.lengths("log_probs") is not None or c.lengths("labels") is not None:
        raise NotImplementedError  # ragged ones are compared with dense ones in our own tests
    log_probs = c.log_probs.transpose(0, 1) if c.batch_first else c.log_probs
    steps, batch = log_probs.shape[:2]
    inputs = c.input_lengths if c.input_lengths is not None else torch.full((batch,), steps)
    lengths = c.label_lengths if c.label_lengths is not None else torch.full(
        (batch,), c.labels.shape[1])
    return F.ctc_loss(log_probs, c.labels.long(), inputs.long(), lengths.long(), blank=c.blank,
                      reduction="none", zero_infinity=c.zero_infinity)


@oracle("ctc_greedy_decode", gradient=False)
def ctc_greedy_decode(c):
    raise NotImplementedError


@oracle("poisson_nll_rate")
def poisson_nll_rate(c):
    rate, target = torch.broadcast_tensors(c.rate, c.target)
    return rate - target * torch.log(rate + given(c.eps, 1e-8, rate))


def over_lists(c, function):
    lengths = c.lengths("scores")
    if lengths is None:
        if c.scores.shape[-1] == 0:
            raise NotImplementedError
        return function(c.scores, c.relevance)
    zero = torch.zeros((), dtype=c.scores.dtype)
    return torch.stack([function(s, r) if len(s) else zero for s, r in
                        zip(torch.split(c.scores, lengths), torch.split(c.relevance, lengths))])


@oracle("list_net")
def list_net(c):
    return over_lists(c, lambda s, r: -(torch.softmax(r, -1) * torch.log_softmax(s, -1)).sum(-1))


@oracle("list_mle", gradient=True)
def list_mle(c):
    def one(scores, relevance):
        order = torch.argsort(relevance.detach(), dim=-1, descending=True, stable=True)
        s = torch.take_along_dim(scores, order, -1)
        rest = torch.flip(torch.logcumsumexp(torch.flip(s, [-1]), -1), [-1])
        return (rest - s).sum(-1)
    return over_lists(c, one)


def sampled(c):
    labels, drawn = c.labels.long(), c.sampled.long()
    first = (c.hidden * c.weight[labels]).sum(-1)
    others = c.hidden @ c.weight[drawn].t()
    if c.bias is not None:
        first, others = first + c.bias[labels], others + c.bias[drawn]
    if c.label_counts is not None:
        first = first - torch.log(c.label_counts)
    if c.counts is not None:
        others = others - torch.log(c.counts)
    if c.remove_hits:
        others = torch.where(labels.unsqueeze(1) == drawn.unsqueeze(0),
                             torch.full_like(others, -1e30), others)
    return torch.cat([first.unsqueeze(1), others], 1)


@oracle("sampled_logits", "sampled_softmax", "nce", gradient=False)
def sampled_losses(c):
    x = sampled(c)
    if c.op == "sampled_logits":
        return x
    if c.op == "sampled_softmax":
        return torch.logsumexp(x, 1) - x[:, 0]
    zero = torch.zeros((), dtype=x.dtype)
    return torch.logaddexp(-x[:, 0], zero) + torch.logaddexp(x[:, 1:], zero).sum(1)


@oracle("info_nce")
def info_nce(c):
    products = c.a @ c.b.t() / c.temperature
    return F.cross_entropy(products, torch.arange(len(products)), reduction="none")
