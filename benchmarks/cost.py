"""What something costs, in a process of its own, held against a promise."""

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
    peak: float
    """MB."""
    said: str


def apart(way: Callable[..., str], *given: Any) -> Cost:
    """Go a way in a process of its own, that starts with nothing, and return what it cost."""
    start_anew = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=start_anew) as process:
        return process.submit(_measured, way, *given).result()


def peak() -> float:
    """Return the most memory that this process ever had, in MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (FileNotFoundError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS: in bytes


def at_least(what: str, found: float, promised: float) -> bool:
    print(f"  {found:8.2f} {what} (at least {promised:g})")
    return found >= promised


def at_most(what: str, found: float, promised: float) -> bool:
    print(f"  {found:8.2f} {what} (at most {promised:g})")
    return found <= promised


def _measured(way: Callable[..., str], *given: Any) -> Cost:
    cpu, wall = _cpu_seconds(), time.perf_counter()
    said = way(*given)
    return Cost(_cpu_seconds() - cpu, time.perf_counter() - wall, peak(), said)


def _cpu_seconds() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(of.ru_utime + of.ru_stime for of in used)
