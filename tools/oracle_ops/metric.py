"""Metrics, by their definitions in NumPy."""

import numpy as np
import torch

from .oracle import oracle


def numbers(c, name):
    """prediction, label and weight as flat f64 arrays."""
    p = c.by_name[name].double().numpy().reshape(-1)
    label = c.label.double().numpy().reshape(-1)
    weight = np.ones_like(p) if c.weight is None else c.weight.double().numpy().reshape(-1)
    return p, label, weight


def added(c, *sums):
    return c.accumulator + torch.tensor(sums, dtype=torch.float64).reshape(c.accumulator.shape)


def rows(c, name):
    """scores [N, C], labels and weights, without ignored rows."""
    scores = c.by_name[name].double().numpy()
    scores = scores.reshape(-1, scores.shape[-1])
    labels = c.labels.numpy().reshape(-1)
    weight = np.ones(len(labels)) if c.weight is None else c.weight.double().numpy().reshape(-1)
    keep = np.ones(len(labels), bool) if c.ignore_index is None else labels != c.ignore_index
    return scores[keep], labels[keep].astype(int), weight[keep]


@oracle("accuracy", "top_k_accuracy", gradient=False)
def accuracy(c):
    scores, labels, weight = rows(c, "scores")
    k = c.k or 1
    right = []
    for s, label in zip(scores, labels):
        best = np.argsort(-s, kind="stable")[:k]
        right.append(not np.isnan(s).any() and label in best)
    right = np.array(right, dtype=float)
    return added(c, (weight * right).sum(), weight.sum())


@oracle("binary_accuracy", gradient=False)
def binary_accuracy(c):
    p, label, weight = numbers(c, "prediction")
    right = ((p >= c.threshold) == (label > 0.5)) & ~np.isnan(p)
    return added(c, (weight * right).sum(), weight.sum())


@oracle("calibration", gradient=False)
def calibration(c):
    p, label, weight = numbers(c, "prediction")
    return added(c, (weight * p).sum(), (weight * label).sum())


@oracle("log_loss", gradient=False, tolerance=10)
def log_loss(c):
    p, label, weight = numbers(c, "prediction")
    p = np.clip(p, 1e-7, 1 - 1e-7)
    loss = -(label * np.log(p) + (1 - label) * np.log1p(-p))
    return added(c, (weight * loss).sum(), weight.sum())


@oracle("running_mse", "running_mae", gradient=False)
def running_error(c):
    p, label, weight = numbers(c, "prediction")
    error = (p - label) ** 2 if c.op == "running_mse" else np.abs(p - label)
    return added(c, (weight * error).sum(), weight.sum())


@oracle("running_mean", gradient=False)
def running_mean(c):
    x = c.x.double().numpy()
    weight = np.ones_like(x) if c.weight is None else c.weight.double().numpy()
    return added(c, (weight * x).sum(), weight.sum())


@oracle("ratio_value", gradient=False)
def ratio_value(c):
    return c.accumulator[0] / c.accumulator[1]


@oracle("perplexity", gradient=False)
def perplexity(c):
    scores, labels, weight = rows(c, "log_probs")
    return added(c, -(weight * scores[np.arange(len(labels)), labels]).sum(), weight.sum())


@oracle("perplexity_value", gradient=False)
def perplexity_value(c):
    return torch.exp(c.accumulator[0] / c.accumulator[1])


@oracle("precision_recall", gradient=False)
def precision_recall(c):
    p, label, weight = numbers(c, "prediction")
    if np.isnan(p).any():
        raise NotImplementedError
    positive, true = p >= c.threshold, label > 0.5
    return added(c, *[(weight * which).sum() for which in (
        positive & true, positive & ~true, ~positive & true, ~positive & ~true)])


@oracle("precision_recall_value", gradient=False)
def precision_recall_value(c):
    tp, fp, fn, _ = c.accumulator
    return [tp / (tp + fp), tp / (tp + fn), 2 * tp / (2 * tp + fp + fn)]


@oracle("confusion_matrix", gradient=False)
def confusion_matrix(c):
    y = c.accumulator.clone()
    labels, predictions = c.labels.reshape(-1), c.predictions.reshape(-1)
    weight = torch.ones(len(labels)) if c.weight is None else c.weight.reshape(-1)
    for label, prediction, w in zip(labels, predictions, weight):
        if c.ignore_index is None or int(label) != c.ignore_index:
            y[int(label), int(prediction)] += w.double()
    return y


@oracle("auc", gradient=False)
def auc(c):
    p, label, weight = numbers(c, "prediction")
    if np.isnan(p).any():
        raise NotImplementedError
    buckets = c.accumulator.shape[1]
    y = c.accumulator.numpy().copy()
    where = np.clip(np.floor(np.clip(p, -1, 2) * buckets), 0, buckets - 1).astype(int)
    np.add.at(y[0], where, weight * (1 - label))
    np.add.at(y[1], where, weight * label)
    return torch.tensor(y)


@oracle("auc_value", gradient=False)
def auc_value(c):
    negative, positive = c.accumulator.numpy()
    pairs = positive.sum() * negative.sum()
    below = np.concatenate([[0], np.cumsum(negative)[:-1]])
    with np.errstate(all="ignore"):
        return [torch.tensor((positive * (below + negative / 2)).sum() / pairs),
                torch.tensor((positive * negative).sum() / (2 * pairs))]


@oracle("exact_auc", gradient=False)
def exact_auc(c):
    p, label, weight = numbers(c, "prediction")
    if np.isnan(p).any():
        raise NotImplementedError
    positive, negative = weight * label, weight * (1 - label)
    order = (p[:, None] > p[None, :]) + 0.5 * (p[:, None] == p[None, :])
    with np.errstate(all="ignore"):
        return torch.tensor((positive[:, None] * negative[None, :] * order).sum()
                            / (positive.sum() * negative.sum()))


@oracle("calibration_error", gradient=False)
def calibration_error(c):
    p, label, weight = numbers(c, "prediction")
    if np.isnan(p).any():
        raise NotImplementedError
    buckets = c.accumulator.shape[1]
    where = np.clip(np.floor(np.clip(p, -1, 2) * buckets), 0, buckets - 1).astype(int)
    y = c.accumulator.numpy().copy()
    for k, values in enumerate((weight, weight * p, weight * label)):
        np.add.at(y[k], where, values)
    return torch.tensor(y)


@oracle("calibration_error_value", gradient=False)
def calibration_error_value(c):
    weight, predicted, labelled = c.accumulator.numpy()
    with np.errstate(all="ignore"):
        return torch.tensor(np.abs(predicted - labelled).sum() / weight.sum())


def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


def sequences(c, name, given):
    values = c.by_name[name]
    if c.lengths(name) is not None:
        return [x.tolist() for x in torch.split(values, c.lengths(name))]
    lengths = c.by_name[given]
    return [x[:len(x) if lengths is None else int(lengths[k])].tolist()
            for k, x in enumerate(values)]


@oracle("edit_distance", "edit_rate", gradient=False)
def edit_distance(c):
    candidates = sequences(c, "candidate", "candidate_lengths")
    references = sequences(c, "reference", "reference_lengths")
    distances = [levenshtein(a, b) for a, b in zip(candidates, references)]
    if c.op == "edit_distance":
        return torch.tensor(distances, dtype=torch.int64)
    return added(c, float(sum(distances)), float(sum(map(len, references))))


def ranked(c):
    """(relevance by falling score, relevance, weight) of each list."""
    lengths = c.lengths("scores")
    if lengths is None:
        width = c.scores.shape[-1]
        scores, relevance = c.scores.reshape(-1, width), c.relevance.reshape(-1, width)
    else:
        scores, relevance = torch.split(c.scores, lengths), torch.split(c.relevance, lengths)
    weight = [1.0] * len(scores) if c.weight is None else c.weight.double().reshape(-1).tolist()
    for s, r, w in zip(scores, relevance, weight):
        s, r = s.double().numpy(), r.double().numpy()
        yield r[np.argsort(np.where(np.isnan(s), np.inf, -s), kind="stable")], r, w


@oracle("ndcg", gradient=False)
def ndcg(c):
    total = count = 0.0
    for r, relevance, w in ranked(c):
        k = c.k or len(r)

        def dcg(values):
            gain = 2.0 ** values - 1 if c.gain == "exponential" else values
            return (gain[:k] / np.log2(np.arange(len(gain[:k])) + 2)).sum()
        best = dcg(-np.sort(-relevance))
        if best > 0:
            total, count = total + w * dcg(r) / best, count + w
    return added(c, total, count)


@oracle("reciprocal_rank", gradient=False)
def reciprocal_rank(c):
    total = count = 0.0
    for r, _, w in ranked(c):
        k = c.k or len(r)
        found = np.nonzero(r[:k] > 0)[0]
        total, count = total + (w / (found[0] + 1) if len(found) else 0.0), count + w
    return added(c, total, count)


def ngrams(words, n):
    counts = {}
    for i in range(len(words) - n + 1):
        gram = tuple(words[i:i + n])
        counts[gram] = counts.get(gram, 0) + 1
    return counts


@oracle("bleu", gradient=False)
def bleu(c):
    candidates = sequences(c, "candidate", "candidate_lengths")
    references = sequences(c, "reference", "reference_lengths")
    longest = (len(c.accumulator) - 2) // 2
    sums = np.zeros(2 * longest + 2)
    for candidate, reference in zip(candidates, references):
        for n in range(1, longest + 1):
            wanted = ngrams(reference, n)
            found = ngrams(candidate, n)
            sums[n - 1] += sum(min(k, wanted.get(g, 0)) for g, k in found.items())
            sums[longest + n - 1] += sum(found.values())
        sums[-2] += len(candidate)
        sums[-1] += len(reference)
    return added(c, *sums)


@oracle("bleu_value", gradient=False)
def bleu_value(c):
    a = c.accumulator.numpy()
    longest = (len(a) - 2) // 2
    matches, runs, candidate, reference = a[:longest], a[longest:-2], a[-2], a[-1]
    with np.errstate(all="ignore"):
        if (runs == 0).any() or candidate == 0:
            raise NotImplementedError
        shares = np.prod(matches / runs) ** (1 / longest)
        return torch.tensor(min(1.0, np.exp(1 - reference / candidate)) * shares)
