"""What the peers of data-read share: the rows, one core, sums that all sides compare."""

import os

import ctr_rows

ROWS, BATCH = 102_400, 2048
NAMES = (["label"] + [f"i{k + 1}" for k in range(ctr_rows.NUMBERS)]
         + [f"c{k + 1}" for k in range(ctr_rows.FIELDS)])


def one_core():
    """Libraries that start threads whatever they are told still have one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def make_rows():
    return [array[:ROWS] for array in ctr_rows.make_rows()]


def sums(label, dense, ids):
    return [float(a.sum(dtype="float64")) for a in (label, dense, ids)]
