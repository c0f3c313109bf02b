"""Fixtures of the tests of the pages."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import turnetl
from tests.cli.command import SAMPLES
from tests.web.visiting import Visitor, visiting


@pytest.fixture(scope="session")
async def sample_settings(tmp_path_factory: pytest.TempPathFactory) -> turnetl.Settings:
    """Return the settings of a lake and a graph of the samples; they are only read."""
    settings = turnetl.Settings(lake=tmp_path_factory.mktemp("pages") / "lake")
    await turnetl.backfill(SAMPLES, settings)
    return settings


@pytest.fixture(scope="session")
async def visitor(sample_settings: turnetl.Settings) -> AsyncIterator[Visitor]:
    """Return a visitor of the pages of the samples who has been let in."""
    async with visiting(sample_settings) as found:
        yield found


@pytest.fixture
def empty_settings(tmp_path: Path) -> turnetl.Settings:
    """Return the settings of a lake that does not exist."""
    return turnetl.Settings(lake=tmp_path / "lake")
