"""Temporary files of a lake, and interrupts that arrive while one is written."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from turnetl.base import private_files
from turnetl.lake import replace_file, temporary, temporary_folder
from turnetl.lake.temporary import remove_abandoned, shared_temporary_folder

# A file that was opened just before the interrupt is closed by its finalizer.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TRACED = {module.__file__ for module in (contextlib, private_files, temporary)}


def is_interrupted(work: Callable[[], object], line: int) -> bool:
    """Interrupt the work before its line of that number; return False if it has fewer lines."""
    lines = count(1)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in TRACED:
            return None
        if event == "line" and next(lines) == line:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def write(folder: Path) -> None:
    replace_file(folder / "table", lambda file: file.write(b"rows"), folder)


def spill(folder: Path) -> None:
    with temporary_folder(folder, folder) as created:
        (created / "rows").write_bytes(b"rows")


def interrupted_folders(work: Callable[[Path], None], parent: Path) -> Iterator[Path]:
    """Do the work in new folders; yield each one after an interrupt at another line."""
    for line in count(1):
        folder = parent / str(line)
        folder.mkdir()
        if not is_interrupted(partial(work, folder), line):
            assert line > 20
            return
        yield folder


def test_an_interrupt_at_any_line_leaves_a_complete_file_or_none(tmp_path: Path) -> None:
    for folder in interrupted_folders(write, tmp_path):
        assert [path.read_bytes() for path in folder.iterdir()] in ([], [b"rows"])


def test_what_an_interrupted_spill_leaves_is_removed_by_the_next_run(tmp_path: Path) -> None:
    for folder in interrupted_folders(spill, tmp_path):
        remove_abandoned(folder)
        assert not list(folder.iterdir())


def test_a_folder_among_those_of_other_programs_removes_what_killed_ones_of_its_name_left(
    tmp_path: Path,
) -> None:
    others = tmp_path / ".other.1.tmp"
    others.touch()
    (tmp_path / "killed").mkdir()
    for folder in interrupted_folders(spill_among_others, tmp_path / "killed"):
        for left in folder.iterdir():
            left.rename(tmp_path / left.name)
    with (
        shared_temporary_folder(tmp_path, "turnetl-plan") as first,
        shared_temporary_folder(tmp_path, "turnetl-plan") as second,
    ):
        assert {*tmp_path.glob(".turnetl-plan.*.rows")} == {first, second}
        assert first.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.1.tmp", "killed"]


def spill_among_others(folder: Path) -> None:
    with shared_temporary_folder(folder, "turnetl-plan") as created:
        (created / "rows").write_bytes(b"rows")
