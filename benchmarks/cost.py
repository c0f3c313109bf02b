"""The cost of a function in a process of its own, compared with a limit."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cost:
    cpu: float
    """Seconds, user and system, of all threads and processes."""
    wall: float
    """Seconds."""
    peak: float
    """MB of memory."""
    result: str


def measure_cost(function: Callable[..., str], *arguments: Any) -> Cost:
    """Call a function in a newly spawned process and return its cost."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        return process.submit(_measured, function, *arguments).result()


def peak() -> float:
    """Return the peak memory of this process in MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (FileNotFoundError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS: in bytes


def at_least(name: str, value: float, limit: float) -> bool:
    """Print a value with its lower limit; return whether it is within the limit."""
    print(f"  {value:8.2f} {name} (at least {limit:g})")
    return value >= limit


def at_most(name: str, value: float, limit: float) -> bool:
    """Print a value with its upper limit; return whether it is within the limit."""
    print(f"  {value:8.2f} {name} (at most {limit:g})")
    return value <= limit


def _measured(function: Callable[..., str], *arguments: Any) -> Cost:
    cpu, wall = _cpu_seconds(), time.perf_counter()
    result = function(*arguments)
    return Cost(_cpu_seconds() - cpu, time.perf_counter() - wall, peak(), result)


def _cpu_seconds() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
