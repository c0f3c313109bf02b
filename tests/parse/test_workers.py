"""Archives parsed in parallel: the same lake and report, even if a process dies."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import PicklingError

import pytest

from tests.fakes.redactors import (
    CallbackRedactor,
    DyingRedactor,
    FailingRedactor,
    NoRedactor,
    SignallingWriter,
)
from tests.parse.parse_runs import one_turn, outcomes, row, run
from turnetl import formats, parsing
from turnetl.base import errors
from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason
from turnetl.lake import Lake
from turnetl.redact import Redactor, SecretRedactor

PARALLEL = parsing.ParseLimits(bytes_per_process=1)
"""Processes are started for any amount of work."""
SMALL = Path(__file__).parents[1] / "archives"


@pytest.fixture
def archives(tmp_path: Path) -> list[Path]:
    """Forty small archives of four projects, and all archives of the format tests."""
    folder = tmp_path / "archives"
    folder.mkdir()
    for number in range(40):
        path = folder / f"{number:02}.jsonl"
        cwd = f"/home/dev/project{number % 4}"
        path.write_text(row("user", f"prompt {number}", f"p{number}", cwd=cwd))
    return sorted(folder.iterdir()) + sorted(SMALL.glob("*/*"))


def written(lake: Lake) -> dict[str, bytes]:
    """Return all files of a lake by their relative paths."""
    files = (path for path in lake.root.rglob("*") if path.is_file())
    return {str(path.relative_to(lake.root)): path.read_bytes() for path in files}


@pytest.mark.full
@pytest.mark.parametrize(
    "redactor", [NoRedactor(), SecretRedactor(b"another key")], ids=["plain", "real"]
)
def test_several_processes_give_the_lake_and_the_report_of_one(
    archives: list[Path], tmp_path: Path, redactor: Redactor
) -> None:
    lakes = [Lake(tmp_path / name) for name in ("one", "many")]
    one = run(lakes[0], *archives, redactor=redactor)
    updates: list[tuple[int, int]] = []
    many = run(
        lakes[1],
        *archives,
        redactor=redactor,
        jobs=3,
        limits=PARALLEL,
        progress=lambda done, total: updates.append((done, total)),
    )
    assert many == one
    assert written(lakes[1]) == written(lakes[0])
    assert updates == [(done, len(archives)) for done in range(1, len(archives) + 1)]


def test_a_process_is_started_only_for_as_much_work_as_its_start_takes(
    archives: list[Path], tmp_path: Path
) -> None:
    """No process can receive the redactor: a run that starts one fails."""
    seen: list[int] = []
    redactor = CallbackRedactor(lambda: seen.append(os.getpid()))
    limits = parsing.ParseLimits(bytes_per_process=50 << 20)
    report = run(Lake(tmp_path / "one"), *archives[:40], redactor=redactor, jobs=8, limits=limits)
    assert outcomes(report) == ["new"] * 40
    assert {*seen} == {os.getpid()}
    with pytest.raises((AttributeError, PicklingError)):
        run(Lake(tmp_path / "two"), *archives[:40], redactor=redactor, jobs=2, limits=PARALLEL)


@pytest.mark.full
def test_a_second_run_starts_no_process_and_changes_nothing(
    archives: list[Path], tmp_path: Path
) -> None:
    lake = Lake(tmp_path / "lake")
    known = [path for path in archives if formats.sniff(path.read_bytes()) is not None]
    run(lake, *known, jobs=2, limits=PARALLEL)
    before = written(lake)
    assert set(outcomes(run(lake, *known, jobs=2, limits=PARALLEL))) == {"unchanged"}
    assert written(lake) == before


@pytest.mark.full
def test_a_killed_process_loses_one_archive_which_is_named(
    archives: list[Path], tmp_path: Path
) -> None:
    lake = Lake(tmp_path / "lake")
    archives[7].write_text(one_turn("deadly"))
    report = run(lake, *archives[:40], redactor=DyingRedactor("deadly"), jobs=2, limits=PARALLEL)
    assert outcomes(report) == ["new"] * 7 + ["unreadable"] + ["new"] * 32
    (problem,) = report.problems
    assert (problem.path, problem.reason) == (str(archives[7]), SkipReason.WORKER_KILLED)
    assert "run again with --jobs 1" in problem.message
    assert len(lake.turn_paths()) == 39


@pytest.mark.full
def test_a_process_that_is_killed_while_it_writes_leaves_no_temporary_file(
    archives: list[Path], tmp_path: Path
) -> None:
    lake = Lake(tmp_path / "lake")
    archives[1].write_text(one_turn("deadly"))
    redactor = SignallingWriter("deadly", lake.root / "turns" / "shop" / "x", signal.SIGKILL)
    report = run(lake, *archives[:3], redactor=redactor, jobs=2, limits=PARALLEL)
    assert outcomes(report) == ["new", "unreadable", "new"]
    assert all(name.endswith(".parquet") for name in written(lake))


@pytest.mark.full
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_log_has_the_traceback_of_an_unexpected_error_in_any_process(
    jobs: int, archives: list[Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "turnetl")
    report = run(
        Lake(tmp_path / "lake"),
        *archives[:3],
        redactor=FailingRedactor(),
        jobs=jobs,
        limits=PARALLEL,
    )
    assert {problem.reason for problem in report.problems} == {SkipReason.UNEXPECTED_ERROR}
    assert all("--debug" in problem.message for problem in report.problems)
    records = [record for record in caplog.records if "unexpected error" in record.getMessage()]
    assert {str(path) in caplog.text for path in archives[:3]} == {True}
    assert len(records) == 3
    assert caplog.text.count("Traceback") == caplog.text.count("raise AssertionError") == 3


@pytest.mark.full
def test_a_lake_that_cannot_be_written_stops_all_processes(
    archives: list[Path], tmp_path: Path
) -> None:
    blocked = tmp_path / "lake"
    blocked.mkdir()
    (blocked / "turns").write_text("a file where the folder should be")
    with pytest.raises(errors.Fatal, match="cannot be written"):
        run(Lake(blocked), *archives, jobs=2, limits=PARALLEL)


@pytest.mark.full
def test_an_archive_named_twice_is_parsed_once(archives: list[Path], tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(archives[0])
    report = run(Lake(tmp_path / "lake"), archives[0], link, archives[0], jobs=2, limits=PARALLEL)
    assert outcomes(report) == ["new"]


PARSE_SCRIPT = """
import signal, sys
from pathlib import Path
from tests.fakes.redactors import NoRedactor, SignallingRedactor, SignallingWriter, SignalOnReceipt
from tests.parse.parse_runs import run
from turnetl import console, parsing
from turnetl.lake import Lake

def main(arguments, **_):
    progress = lambda done, total: print(done, flush=True)
    paths = sorted(Path(arguments[0]).iterdir())
    limits = parsing.ParseLimits(bytes_per_process=1)
    redactor = eval(arguments[2])
    lake = Lake(Path(arguments[1]))
    run(lake, *paths, redactor=redactor, jobs=2, limits=limits, progress=progress)

if __name__ == "__main__":
    sys.exit(console.run(main, sys.argv[1:]))
"""


STOPPED = "turnetl: stopped; finished work is kept, and the same command continues from there\n"


@contextmanager
def parse_process(
    folder: Path, redactor: str = "NoRedactor()"
) -> "Iterator[subprocess.Popen[str]]":
    """Parse the folder `archives` into `lake` with two workers, in a new session."""
    (folder / "reads.py").write_text(PARSE_SCRIPT)
    with subprocess.Popen(
        [sys.executable, folder / "reads.py", folder / "archives", folder / "lake", redactor],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # noqa: TID251 - for the child
        start_new_session=True,
        text=True,
    ) as process:
        try:
            yield process
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


@pytest.mark.full
@pytest.mark.usefixtures("archives")
def test_ctrl_c_does_not_reach_a_worker_that_starts(tmp_path: Path) -> None:
    """Not even the first one, with which Python starts a process of its own."""
    redactor = "SignallingRedactor(SignalOnReceipt(signal.SIGINT, to_parent=False))"
    with parse_process(tmp_path, redactor) as process:
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")
    assert stdout.splitlines()[-1] == "40"


@pytest.mark.full
@pytest.mark.usefixtures("archives")
@pytest.mark.parametrize("stop", ["SIGINT", "SIGTERM"])
def test_a_run_that_is_stopped_while_a_worker_starts_prints_one_sentence(
    stop: str, tmp_path: Path
) -> None:
    """The worker receives all of its data, and is then stopped."""
    redactor = f"SignallingRedactor(SignalOnReceipt(signal.{stop}, to_parent=True))"
    with parse_process(tmp_path, redactor) as process:
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, stderr) == (130, "", STOPPED)
    assert not living_processes(process.pid)


@pytest.mark.full
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("whole_group", [False, True], ids=["one", "group"])
def test_a_stopped_run_ends_soon_with_one_sentence_and_leaves_complete_files_only(
    tmp_path: Path, stop: signal.Signals, whole_group: bool
) -> None:
    (tmp_path / "archives").mkdir()
    for number in range(3_000):
        (tmp_path / "archives" / f"{number}.jsonl").write_text(one_turn("x" * 20_000, f"p{number}"))
    lake = Lake(tmp_path / "lake")
    with parse_process(tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "1\n"
        (os.killpg if whole_group else os.kill)(process.pid, stop)
        assert process.wait(timeout=20) == 130
        assert process.stderr.read() == STOPPED
    left = [path.name for path in lake.root.rglob("*") if path.is_file()]
    assert 0 < len(left) < 3_000
    assert not [name for name in left if not name.endswith(".parquet")]
    assert len(list(lake.turns(GroupId("shop")))) == len(left)
    assert not living_processes(process.pid)


@pytest.mark.full
@pytest.mark.usefixtures("archives")
def test_a_stopped_run_removes_the_temporary_file_of_a_worker_that_does_not_respond(
    tmp_path: Path,
) -> None:
    """The worker is suspended while it writes, so that the run must kill it."""
    path = tmp_path / "lake" / "turns" / "shop" / "x"
    redactor = f"SignallingWriter('prompt 7', Path('{path}'), signal.SIGSTOP, signal.SIGTERM)"
    with parse_process(tmp_path, redactor) as process:
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (130, STOPPED)
    assert all(name.endswith(".parquet") for name in written(Lake(tmp_path / "lake")))
    assert not living_processes(process.pid)


def living_processes(session: int) -> list[str]:
    """Return the processes of a session that still run after five seconds, without zombies."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        command = ["ps", "-o", "pid=,stat=", "-g", str(session)]
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        processes = [line for line in output.splitlines() if "Z" not in line]
        if not processes:
            return []
        time.sleep(0.05)
    return processes
