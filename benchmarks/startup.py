"""What a person waits for: help, the first backfill of the samples, and the second.

    python -m benchmarks.startup

Exits with 1 if one takes longer than it may.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.real import SAMPLES

RUNS = 7


def seconds(*arguments: str, folder: str) -> float:
    began = time.perf_counter()
    command = [str(Path(sys.executable).with_name("turnetl")), *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        helped = [seconds("--help", folder=folder) for _ in range(RUNS)]
        first = seconds("backfill", str(SAMPLES), folder=folder)
        again = [seconds("backfill", str(SAMPLES), folder=folder) for _ in range(RUNS)]
        found = [seconds("search", "why did the tests fail", folder=folder) for _ in range(RUNS)]
    within = [
        told("turnetl --help", statistics.median(helped), 0.3),
        told("first backfill", first, 30),
        told("second backfill", statistics.median(again), 3),
        told("search", statistics.median(found), 3),
    ]
    sys.exit(not all(within))


def told(what: str, took: float, at_most: float) -> bool:
    print(f"{what:<24}{took:.2f} s (at most {at_most} s)")
    return took <= at_most


if __name__ == "__main__":
    main()
