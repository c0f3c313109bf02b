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
AVAILABLE = ARCHIVES.is_dir()
if _NAMED and not AVAILABLE:
    raise FileNotFoundError(f"TURNETL_TEST_ARCHIVES names no folder: `{_NAMED}`")

ARCHIVES_OR_SAMPLES = ARCHIVES if AVAILABLE else SAMPLES
needs_archives = pytest.mark.skipif(
    not AVAILABLE, reason="no archives of real projects: set TURNETL_TEST_ARCHIVES"
)

CASES = ARCHIVES.parent / "cases"
"""Small inputs beside the archives, each with one difficulty; absent without them."""
