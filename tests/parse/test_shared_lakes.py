"""Processes that parse into one lake at the same time: in a folder, and in a bucket."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.redactors import CallbackRedactor
from tests.lake import object_lakes
from tests.lake.object_lakes import lake_of, machine
from tests.parse.parse_runs import one_turn, run
from tests.servers.s3_server import S3Server
from turnetl.base.errors import LakeChanged
from turnetl.lake import Lake, LocalFiles
from turnetl.lake.files import Check, Write
from turnetl.parsing.parse_report import Outcome


@pytest.fixture(params=["folder", "bucket"])
def lakes(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Lake, Lake]:
    if request.param == "folder":
        return Lake(tmp_path / "lake"), Lake(tmp_path / "lake")
    s3: S3Server = request.getfixturevalue("s3")
    url = object_lakes.new_url(s3, monkeypatch)
    return lake_of(machine(url, tmp_path / "a")), lake_of(machine(url, tmp_path / "b"))


def prompts(lake: Lake) -> list[str]:
    return sorted(turn.user_text for group in lake.groups() for turn in lake.turns(group))


def raced(lakes: tuple[Lake, Lake], archive: Path, *meanwhile: str) -> Outcome:
    """Parse an archive that is replaced after it was read, and parsed by the other process.

    Then it has its old content again: what the other process read is in the lake only.

    Args:
        lakes: the lake, as both processes see it.
        archive: the archive.
        meanwhile: its contents, one for each time that it is read.
    """
    here, there = lakes
    races = iter(meanwhile)

    def write_meanwhile() -> None:
        for content in races:
            own = archive.read_text()
            archive.write_text(content)
            run(here, archive)
            archive.write_text(own)
            return

    report = run(there, archive, redactor=CallbackRedactor(write_meanwhile))
    return report.archives[0].outcome


FIRST, SECOND, THIRD = (one_turn(f"turn {number}", f"p{number}") for number in (1, 2, 3))


def test_no_turn_is_lost_that_another_process_wrote_meanwhile(
    lakes: tuple[Lake, Lake], tmp_path: Path
) -> None:
    here, there = lakes
    archive = tmp_path / "s1.jsonl"
    archive.write_text(FIRST)
    run(here, archive)
    archive.write_text(THIRD)
    assert raced(lakes, archive, FIRST + SECOND) is Outcome.CHANGED
    assert prompts(there) == prompts(here) == ["turn 1", "turn 2", "turn 3"]


@dataclass(frozen=True)
class RacedFiles(LocalFiles):
    """A lake in a folder of which another process replaces a file just before this one does."""

    races: Iterator[Callable[[], object]]

    def replace(self, path: Path, write: Write, check: Check | None = None) -> None:
        for race in self.races:
            race()
            break
        super().replace(path, write, check)


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "changed"])
def test_no_turn_is_lost_that_another_process_writes_just_before(
    is_new: bool, tmp_path: Path
) -> None:
    """The archive is replaced twice: only the other process reads the first of both contents."""
    here, archive = Lake(tmp_path / "lake"), tmp_path / "s1.jsonl"
    if not is_new:
        archive.write_text(FIRST)
        run(here, archive)

    def rotate() -> None:
        archive.write_text(FIRST + SECOND)
        run(here, archive)
        archive.write_text(THIRD)

    archive.write_text(FIRST + THIRD)
    there = Lake(tmp_path / "lake", RacedFiles(tmp_path / "lake", iter([rotate])))
    run(there, archive)
    assert prompts(here) == ["turn 1", "turn 2", "turn 3"]
    assert not list((tmp_path / "lake").rglob("*.tmp"))


def test_no_turn_is_lost_of_an_archive_that_two_processes_read_first(
    lakes: tuple[Lake, Lake], tmp_path: Path
) -> None:
    archive = tmp_path / "s1.jsonl"
    archive.write_text(THIRD)
    raced(lakes, archive, FIRST + SECOND)
    assert prompts(lakes[0]) == prompts(lakes[1]) == ["turn 1", "turn 2", "turn 3"]


def test_two_processes_that_read_the_same_archive_write_the_same(
    lakes: tuple[Lake, Lake], tmp_path: Path
) -> None:
    archive = tmp_path / "s1.jsonl"
    archive.write_text(FIRST)
    run(lakes[0], archive)
    for content in (FIRST + SECOND, SECOND):
        archive.write_text(content)
        raced(lakes, archive, content)
        assert prompts(lakes[0]) == prompts(lakes[1]) == ["turn 1", "turn 2"]


def test_an_archive_that_is_always_replaced_ends_the_run(
    lakes: tuple[Lake, Lake], tmp_path: Path
) -> None:
    archive = tmp_path / "s1.jsonl"
    archive.write_text(FIRST)
    with pytest.raises(LakeChanged, match="repeat the command, which continues from there"):
        raced(lakes, archive, *(one_turn("again", f"q{number}") for number in range(9)))
    run(lakes[0], archive)
    assert prompts(lakes[0]) == ["again", "again", "again", "turn 1"]
