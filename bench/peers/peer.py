"""What all peers share: the loop of bench/harness/worker.py, and the workload's numbers.

A peer is a dictionary of functions by case: prepare(case) returns an object with run() ->
{"seconds": S, "parts": {...}} and, where results are compared, check() -> [values].
"""

import argparse
import json
import os
import sys
import time

import numpy as np


class Skip(Exception):
    """Raised while preparing: this side takes no part, and why."""


def arguments(*extra):
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    for name in extra:
        parser.add_argument(name)
    return parser.parse_args()


def serve(version, prepare):
    """Answers until "quit" or the end of the input."""
    answers = os.fdopen(os.dup(1), "w")  # libraries print to stdout too
    os.dup2(2, 1)

    def reply(value):
        answers.write("@ok " + json.dumps(value) + "\n")
        answers.flush()

    reply({"version": version})
    cases = {}
    for line in sys.stdin:
        words = line.split()
        if not words or words[0] == "quit":
            return
        try:
            command, name = words
            if command == "prepare":
                try:
                    cases[name] = prepare(name)
                    reply({})
                except Skip as skip:
                    reply({"skip": str(skip)})
            elif command == "check":
                reply({"values": cases[name].check()})
            elif command == "run":
                reply(cases[name].run())
            elif command == "drop":
                del cases[name]
                reply({})
            else:
                raise ValueError("unknown command")
        except Exception as error:  # the harness reports it
            answers.write(f"@error {type(error).__name__}: {error}".replace("\n", " | ") + "\n")
            answers.flush()


def timed(work, repeats):
    """Seconds for one call of `work`, from `repeats` in a row."""
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begin) / repeats


def uniform(seed, count):
    """The numbers of bench/workload.h: float32 in [0, 1), the same on every side."""
    h = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(
        (seed * 0x85EBCA6B) & 0xFFFFFFFF)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x7FEB352D)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x846CA68B)
    h ^= h >> np.uint32(16)
    return (h >> np.uint32(8)).astype(np.float32) * np.float32(1.0 / (1 << 24))


def weight(seed, shape, fan_in):
    """FirstWeight of bench/train/training.h."""
    scale = np.float32((6.0 / fan_in) ** 0.5)
    return ((uniform(seed, int(np.prod(shape))) * 2 - 1) * scale).reshape(shape)


def below(seed, count, bound):
    """Below of bench/train/training.h."""
    return (uniform(seed, count) * np.float32(bound)).astype("int64")


class Training:
    """A case that trains on a few batches, from the same state in every round. A peer sets `steps`
    and `batches`, and has reset() and step(*batch), which returns the loss."""

    checked = 8

    def warm_up(self):
        for k in range(6):
            self.step(*self.batches[k % len(self.batches)])

    def check(self):
        self.reset()
        return [float(self.step(*self.batches[k % len(self.batches)]))
                for k in range(self.checked)]

    def run(self):
        self.reset()
        self.step(*self.batches[0])
        k = iter(range(1, self.steps + 1))
        return {"seconds": timed(lambda: self.step(*self.batches[next(k) % len(self.batches)]),
                                 self.steps)}
