"""Fixtures of the tests of commands."""

import secrets
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli import forgetting
from tests.cli.archives import two_turns
from tests.cli.command import SAMPLES, run_in_process
from tests.cli.planted_folder import PlantedFolder, plant
from tests.cli.provider_setup import SESSION_START
from tests.cli.summarize_runs import FIRST_TURNS, UNFLUSHED, backfill
from tests.legacy.migrating import Migrations

if sys.platform == "win32":
    # They need a pseudo-terminal.
    collect_ignore = ["test_console.py", "test_pager.py", "test_sources.py"]


@pytest.fixture(scope="session")
def filled_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph of two turns and its index; it is only copied."""
    folder = tmp_path_factory.mktemp("filled_shop")
    archive = two_turns(folder, SESSION_START)
    assert run_in_process("backfill", archive, folder=folder).exit_code == 0
    return folder


@pytest.fixture
def shop(filled_shop: Path, tmp_path: Path) -> Path:
    """Return a folder with a graph of two turns and its index."""
    return shutil.copytree(filled_shop, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def filled_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples and its index; it is only copied."""
    folder = tmp_path_factory.mktemp("filled_samples")
    assert run_in_process("backfill", SAMPLES, folder=folder).exit_code == 0
    return folder


@pytest.fixture(scope="session")
def filled_zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with three sessions, of which one is to be forgotten; it is only copied."""
    folder = tmp_path_factory.mktemp("filled_zoo")
    forgetting.fill(folder)
    return folder


@pytest.fixture
def zoo(filled_zoo: Path, tmp_path: Path) -> Path:
    """Return a folder with three sessions, of which one is to be forgotten."""
    return shutil.copytree(filled_zoo, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def unflushed_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an embedded graph of the first turns of the samples; it is only copied.

    Each group has deferred summaries.
    """
    folder = tmp_path_factory.mktemp("unflushed_samples")
    backfill(folder, *FIRST_TURNS, **UNFLUSHED)
    return folder


@pytest.fixture
def planted(tmp_path: Path) -> PlantedFolder:
    return plant(tmp_path)


@pytest.fixture
def key() -> str:
    return f"key-{secrets.token_hex(16)}"


@pytest.fixture(scope="session")
def migrations(tmp_path_factory: pytest.TempPathFactory) -> Migrations:
    """Return migrations of the samples that are ready for their cutover; they are only copied."""
    return Migrations(tmp_path_factory.mktemp("migrations"))
