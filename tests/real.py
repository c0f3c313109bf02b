"""Where archives of real projects are: the one place that knows.

Where the environment's `TURNETL_TEST_ARCHIVES` says, else in `../shared/archives` beside the
checkout. There may be none: tests that need them are skipped, measurements take the samples.
"""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_NAMED = os.environ.get("TURNETL_TEST_ARCHIVES")  # noqa: TID251 - no setting of the product

SAMPLES = _ROOT / "data" / "archives"
"""Of made-up projects; always there."""
ARCHIVES = Path(_NAMED) if _NAMED else _ROOT.parent / "shared" / "archives"
HERE = ARCHIVES.is_dir()
if _NAMED and not HERE:
    raise FileNotFoundError(f"TURNETL_TEST_ARCHIVES names no folder: `{_NAMED}`")

ARCHIVES_OR_SAMPLES = ARCHIVES if HERE else SAMPLES
NEEDED = pytest.mark.skipif(
    not HERE, reason="no archives of real projects: set TURNETL_TEST_ARCHIVES"
)
