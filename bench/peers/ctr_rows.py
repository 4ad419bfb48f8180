"""The rows and first weights of ctr-train: what bench/ctr/rows.h makes, in NumPy."""

import os
import tempfile

import numpy as np
import peer
import table_keys

FIELDS, NUMBERS, IDS_A_FIELD, WIDTH = 26, 13, 100_000, 16
IDS = FIELDS * IDS_A_FIELD
ROWS = 204_800
SIZES = [429, 400, 400, 400, 1]
CHECKED = 8


def steps_of(batch):
    return 100 if batch <= 128 else 10


def make_rows():
    """label, dense and ids."""
    dense = peer.uniform(50, ROWS * NUMBERS).reshape(ROWS, NUMBERS)
    ids = np.empty((ROWS, FIELDS), dtype=np.int64)
    for field in range(FIELDS):
        ranks = table_keys.ranks("power", IDS_A_FIELD, ROWS, field + 1)
        ids[:, field] = field * IDS_A_FIELD + ranks * 73_687 % IDS_A_FIELD
    click = np.float32(0.1) + np.float32(0.3) * dense[:, 0]
    label = (peer.uniform(51, ROWS) < click).astype(np.float32)
    return label, dense, ids


class Batches:
    """Batches from arrays in mapped files, in order, again and again: less work than any format."""

    def __init__(self, batch):
        self.batch, self.row = batch, 0
        self.arrays = []
        with tempfile.TemporaryDirectory() as folder:  # mapped files outlive their names
            for k, array in enumerate(make_rows()):
                path = os.path.join(folder, f"{k}.npy")
                np.save(path, array)
                self.arrays.append(np.load(path, mmap_mode="r"))

    def next(self):
        begin = self.row
        self.row = (begin + self.batch) % ROWS
        return [np.array(a[begin:begin + self.batch]) for a in self.arrays]


def embeddings():
    out = np.empty((IDS, WIDTH), dtype=np.float32)
    for first in range(0, IDS, 1 << 18):
        ids = np.arange(first, min(IDS, first + (1 << 18)))
        out[first:first + len(ids)] = (table_keys.values(ids, WIDTH) - np.float32(0.5)) * np.float32(
            0.02)
    return out


def weight(seed, fan_in, fan_out):
    scale = (6.0 / fan_in) ** 0.5
    return ((peer.uniform(seed, fan_in * fan_out) * 2 - 1) * scale).astype("float32").reshape(
        fan_in, fan_out)


def deep_weights():
    """w of each layer as [in, out]."""
    return [weight(10 + k, a, b) for k, (a, b) in enumerate(zip(SIZES, SIZES[1:]))]


def wide_weight():
    return weight(20, NUMBERS, 1)


class Training:
    """What all peers do with a model: `self.step()` takes one batch and returns the loss."""

    def __init__(self, batch):
        self.batch, self.steps = batch, steps_of(batch)
        self.batches = Batches(batch)

    def first_losses(self):
        self.losses = [float(self.step()) for _ in range(CHECKED)]

    def check(self):
        return self.losses

    def run(self):
        self.step()
        return {"seconds": peer.timed(self.step, self.steps) / self.batch}
