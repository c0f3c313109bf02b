"""The same turns in another process: the same keys, and requests, lest one be paid for twice."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def told(seed: int) -> list[str]:
    """Return what a process asks and makes of the story whose sets have another order."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.extraction.extraction_dump"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},  # noqa: TID251 - handed on
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_requests_and_keys_hang_on_no_order_of_a_set() -> None:
    first, second = told(1), told(2)
    assert sum("dedupe_nodes.nodes" in line for line in first) > 1
    assert sum("resolve_edge" in line for line in first) > 1
    assert first == second
