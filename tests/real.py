"""The folder with archives of real projects.

It is `TURNETL_TEST_ARCHIVES`, by default `../shared/archives` beside the checkout. Without it,
tests that need it are skipped, and benchmarks use the samples.
"""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_NAMED = os.environ.get("TURNETL_TEST_ARCHIVES")  # noqa: TID251 - no setting of the product

SAMPLES = _ROOT / "data" / "archives"
"""Of invented projects; part of the checkout."""
ARCHIVES = Path(_NAMED) if _NAMED else _ROOT.parent / "shared" / "archives"
HERE = ARCHIVES.is_dir()
if _NAMED and not HERE:
    raise FileNotFoundError(f"TURNETL_TEST_ARCHIVES names no folder: `{_NAMED}`")

ARCHIVES_OR_SAMPLES = ARCHIVES if HERE else SAMPLES
NEEDED = pytest.mark.skipif(
    not HERE, reason="no archives of real projects: set TURNETL_TEST_ARCHIVES"
)
