"""The same turns in another process give the same keys and requests, so none is paid for twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def dump(hash_seed: int) -> list[str]:
    """Return the requests and the group of a process whose sets have another order."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.extraction.extraction_dump"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},  # noqa: TID251 - passed on
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.full
def test_requests_and_keys_do_not_depend_on_the_order_of_a_set() -> None:
    first, second = dump(1), dump(2)
    assert sum("dedupe_nodes.nodes" in line for line in first) > 1
    assert sum("resolve_edge" in line for line in first) > 1
    assert first == second
