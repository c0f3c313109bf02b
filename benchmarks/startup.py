"""What a person waits for: help, the first backfill of the samples, and the second.

python -m benchmarks.startup
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
    print(f"turnetl --help          {statistics.median(helped):.2f} s (median of {RUNS})")
    print(f"first backfill          {first:.2f} s (samples, set up)")
    print(f"second backfill         {statistics.median(again):.2f} s (median of {RUNS})")
    print(f"search                  {statistics.median(found):.2f} s (median of {RUNS})")


if __name__ == "__main__":
    main()
