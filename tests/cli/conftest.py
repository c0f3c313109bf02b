"""Fixtures of the tests of commands."""

from pathlib import Path

import pytest

from tests.cli.archives import two_turns
from tests.cli.command import run_in_process
from tests.cli.provider_setup import SESSION_START


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a folder with a graph of two turns and its index."""
    archive = two_turns(tmp_path, SESSION_START)
    assert run_in_process("backfill", archive, folder=tmp_path).exit_code == 0
    return tmp_path
