"""What the machine is, and what it can do at most."""

import os
import platform
import statistics


def describe():
    name, flags = platform.processor() or platform.machine(), []
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    name = value.strip()
                elif key.strip() in ("flags", "Features"):
                    flags = value.split()
                if flags and name:
                    break
    except OSError:
        pass
    vector = ("sse", "avx", "fma", "f16c", "amx", "neon", "asimd", "sve")
    return {
        "processor": name,
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "instruction_sets": sorted(f for f in flags if f.startswith(vector)),
        "system": platform.platform(),
    }


def measure_limits(worker, rounds=5):
    """GEMM and memory figures by a worker of bench_limits, in GFLOP/s and GB/s."""
    samples = {}
    worker.ask("prepare machine")
    for _ in range(rounds):
        for part, value in worker.ask("run machine")["parts"].items():
            samples.setdefault(part, []).append(value)
    worker.ask("drop machine")
    return {part: statistics.median(values) for part, values in samples.items()}


def load():
    """The load average: a benchmark on a busy machine says little."""
    return os.getloadavg()[0]
