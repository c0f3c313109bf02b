"""Folders with a graph that the tests of the MCP server read."""

import shutil
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, run_in_process
from tests.mcp.hostile_archive import write_hostile_archive


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples and its index; it is only read."""
    folder = tmp_path_factory.mktemp("mcp_samples")
    assert run_in_process("backfill", SAMPLES, folder=folder).exit_code == 0
    return folder


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of an archive that attacks its readers; it is only read."""
    folder = tmp_path_factory.mktemp("mcp_hostile")
    archive = write_hostile_archive(folder)
    assert run_in_process("backfill", archive, folder=folder).exit_code == 0
    return folder


@pytest.fixture
def copied(filled: Path, tmp_path: Path) -> Path:
    """Return a copy of the samples that a test may change."""
    return shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
