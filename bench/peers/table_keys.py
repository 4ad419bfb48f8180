"""The keys and rows of the table benchmarks: what bench/table/keys.h computes, in NumPy."""

import numpy as np

EXPONENT = 1.2
WINDOWS = 4


def mix64(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def ranks(distribution, rows, count, seed):
    first = mix64(np.array([seed], dtype=np.uint64))
    bits = mix64(first + np.arange(count, dtype=np.uint64)) >> np.uint64(11)
    uniform = bits.astype(np.float64) * 2.0 ** -53
    if distribution == "uniform":
        chosen = (uniform * rows).astype(np.int64)
    else:
        sums = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -EXPONENT)
        chosen = np.searchsorted(sums, uniform * sums[-1], side="right")
    return np.minimum(chosen, rows - 1)


def values(ranks, width):
    """The rows of these ranks."""
    column = np.arange(width, dtype=np.int64) * 17
    whole = (ranks.astype(np.int64)[:, None] * 31 + column[None, :]) & 1023
    return whole.astype(np.float32) * np.float32(1 / 1024)


def check_sums(rows):
    flat = np.asarray(rows, dtype=np.float64).reshape(-1)
    return [float(flat.sum()), float((flat * (np.arange(flat.size) % 101)).sum())]


class Batches:
    """The ranks of a case such as "power-2000", a round's worth after another."""

    def __init__(self, case, rows):
        words = case.split("-")
        self.batch = int(words[1])
        per_round = max(1, min(1_000_000, max(rows, self.batch)) // self.batch)
        self.ranks = ranks(words[0], rows, WINDOWS * per_round * self.batch, 1).reshape(
            WINDOWS, per_round, self.batch)
        self._round = 0

    def next_round(self, prepared):
        """Of four lists, one a window, the next."""
        self._round += 1
        return prepared[(self._round - 1) % WINDOWS]
