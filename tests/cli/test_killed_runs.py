"""The temporary files of killed processes are removed immediately, those in use never."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.archives import two_turns
from tests.cli.command import ROOT, run_in_process

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks there")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def writer(lake: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that writes three files, and wait until it has begun with all of them."""
    command = [sys.executable, "-m", "tests.cli.writing_program", str(lake)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        yield process
        process.kill()


def hidden(lake: Path) -> list[Path]:
    return sorted(path for path in lake.rglob("*") if path.name.startswith("."))


@pytest.mark.full
def test_the_files_of_a_process_stay_until_it_is_killed(
    lake: Path, writer: subprocess.Popen[str]
) -> None:
    archive = two_turns(lake.parent, MARCH)
    parse = ("parse", archive, "--lake", lake)
    in_use = hidden(lake)
    assert len(in_use) == 4  # three locked files, one of them with a folder
    result = run_in_process(*parse, "--json", folder=lake.parent)
    assert (result.json["removed_temporary_files"], hidden(lake)) == (0, in_use)

    writer.kill()
    writer.wait()
    dry = run_in_process(*parse, "--dry-run", "--json", folder=lake.parent)
    assert (dry.json["removed_temporary_files"], hidden(lake)) == (0, in_use)
    copy = shutil.copytree(lake, lake.with_name("copy"))
    result = run_in_process("filter", "--lake", copy, "--json", folder=lake.parent)
    assert (result.json["removed_temporary_files"], hidden(copy)) == (3, [])
    result = run_in_process(*parse, folder=lake.parent)
    assert "3 temporary files of killed runs removed" in result.stdout
    assert hidden(lake) == []


def test_a_process_that_finishes_its_file_leaves_only_that(
    lake: Path, writer: subprocess.Popen[str]
) -> None:
    writer.communicate("")
    assert writer.returncode == 0
    assert hidden(lake) == []
    assert (lake / "turns" / "shop" / "archive.parquet").read_bytes() == b"PAR1"
    assert (lake / "quarantine" / "shop" / "turn.json").read_bytes() == b"{"
