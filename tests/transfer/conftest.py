"""Two lakes: one to import, and one that is new."""

from pathlib import Path

import pytest

from tests.transfer.lakes import lake_of
from turnetl.lake import Lake


@pytest.fixture
def source(tmp_path: Path) -> Lake:
    """Return the lake of another machine, with two turns in each of two sessions."""
    return lake_of(tmp_path / "other", "s1", "s2")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a lake that does not exist yet."""
    return Lake(tmp_path / "lake")
