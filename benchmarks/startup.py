"""Time of the commands that a user waits for: help, the first and the second backfill, a search.

    python -m benchmarks.startup

Exits with 1 if a command exceeds its limit.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.real_archives import SAMPLES

RUNS = 7
"""Runs of each command, except for the first backfill; the median counts."""


def seconds(*arguments: str, folder: str) -> float:
    """Return how long a program of this environment runs."""
    program, *rest = arguments
    command = [str(Path(sys.executable).with_name(program)), *rest]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return time.perf_counter() - start


def median(*arguments: str, folder: str) -> float:
    return statistics.median(seconds(*arguments, folder=folder) for _ in range(RUNS))


def main() -> None:
    archives = str(SAMPLES)
    with tempfile.TemporaryDirectory() as folder:
        interpreter = median("python", "-c", "pass", folder=folder)
        package = median("python", "-c", "import turnetl", folder=folder) - interpreter
        results = [
            ("import turnetl", package, 0.1),
            ("turnetl --help", median("turnetl", "--help", folder=folder), 0.3),
            ("first backfill", seconds("turnetl", "backfill", archives, folder=folder), 30),
            ("second backfill", median("turnetl", "backfill", archives, folder=folder), 3),
            ("search", median("turnetl", "search", "why did it fail", folder=folder), 3),
        ]
    for name, duration, limit in results:
        print(f"{name:<24}{duration:.2f} s (limit {limit} s)")
    sys.exit(any(duration > limit for _, duration, limit in results))


if __name__ == "__main__":
    main()
