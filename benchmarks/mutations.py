"""Breaks promises of docs/guarantees.md on purpose, and shows that a test of each fails.

    python -m benchmarks.mutations [--list] [NUMBER | WORDS]...

A row of mutations.tsv is a slip of a programmer: the beginning of the promise's row in the page, a
file, a line of it, and that line with the slip. One after the other they are written into this
checkout, which must have no uncommitted change. The tests that the promise names are run as
`make test` runs them and, if none of them fails, as `make test-full` does; then the file is
restored. Numbers, or words of promises or files, select rows.

A test that failed is run again after that: one that fails without the slip too has shown nothing.
Exits with 1 if a slip was not caught. The longest, with a Neo4j, take a minute.
"""

import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guarantees.md"
TABLE = Path(__file__).with_name("mutations.tsv")
_TEST = re.compile(r"\[([\w.]+)\]\(\.\./(tests/[\w/]+\.py)\)")
"""A link to a test by its name, or to a file by its own."""
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "0")
_STOP_SECONDS = 30
_MAX_OUTPUT = 2_000
"""Characters of the output of tests that could not be run."""


class Caught(StrEnum):
    """Which tests fail with a slip."""

    SHORT = "make test"
    FULL = "make test-full"
    NOT = "NOT CAUGHT"


@dataclass(frozen=True)
class Mutation:
    """A slip in one line of one file."""

    promise: str
    """The beginning of a cell of a row of the page."""
    file: str
    """Its path in the checkout."""
    line: str
    """Without indentation."""
    broken: str
    """What takes its place, with the same indentation."""

    @property
    def path(self) -> Path:
        return ROOT / self.file

    def tests(self) -> list[str]:
        """Return the ids of the tests that the promise names; one row must have the promise."""
        rows = [cells for cells in promises() if any(c.startswith(self.promise) for c in cells)]
        if len(rows) != 1:
            raise LookupError(f"{len(rows)} rows of {PAGE.name} begin with `{self.promise}`")
        links = _TEST.findall(" ".join(rows[0]))
        return list(dict.fromkeys(f if n.endswith(".py") else f"{f}::{n}" for n, f in links))

    def applied(self) -> str:
        """Return the content of the file with the slip; the line must be there exactly once."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        places = [place for place, line in enumerate(lines) if line.strip() == self.line]
        if len(places) != 1:
            raise LookupError(f"{len(places)} lines of {self.file} are `{self.line}`")
        [place] = places
        lines[place] = lines[place].replace(self.line, self.broken)
        return "".join(lines)


@dataclass(frozen=True)
class Trial:
    """What the tests showed about a slip."""

    mutation: Mutation
    caught: Caught
    seconds: float


def promises() -> Iterator[list[str]]:
    """Yield the cells of each row of the page that names tests."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|") and _TEST.search(line):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def mutations() -> list[Mutation]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Mutation(row["promise"], row["file"], row["line"], row["broken"]) for row in rows]


def selected(listed: Sequence[Mutation], names: Sequence[str]) -> dict[int, Mutation]:
    """Return the rows with these numbers, from 1, or words; all without any."""
    numbered = dict(enumerate(listed, 1))
    if not names:
        return numbered
    return {
        number: one
        for number, one in numbered.items()
        if any(
            int(name) == number if name.isdecimal() else name in f"{one.promise} {one.file}"
            for name in names
        )
    }


def try_mutation(mutation: Mutation) -> Trial:
    """Write the slip, run the tests, and restore the file."""
    tests, started = mutation.tests(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        for caught, options in ((Caught.SHORT, ()), (Caught.FULL, ("--full",))):
            with _written(mutation):
                has_failed = _has_failed([*options, *tests], cache)
            seconds = time.monotonic() - started
            if has_failed:
                if _has_failed([*options, *_failed_tests(cache)], cache):
                    sys.exit(f"{mutation.promise}: a test fails without the slip too")
                return Trial(mutation, caught, seconds)
    return Trial(mutation, Caught.NOT, seconds)


@contextmanager
def _written(mutation: Mutation) -> Iterator[None]:
    """Write the slip into the file during the block."""
    path, original = mutation.path, mutation.path.read_bytes()
    status = path.stat()
    broken = mutation.applied().encode()
    try:
        path.write_bytes(broken)
        yield
    finally:
        path.write_bytes(original)
        # Python would take the bytecode of the slip for that of a file of the same time and size.
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _has_failed(arguments: Sequence[str], cache: Path) -> bool:
    """Run tests up to the first that fails; the folder then has its id."""
    process = subprocess.Popen(
        [*_PYTEST, "-x", "-o", f"cache_dir={cache}", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Ctrl-C reaches only this process, which interrupts the tests once.
        start_new_session=True,
    )
    try:
        output, _ = process.communicate()
    except BaseException:
        _stop(process)
        raise
    if process.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return False
    if process.returncode != pytest.ExitCode.TESTS_FAILED:
        sys.exit(f"the tests could not be run:\n{output[-_MAX_OUTPUT:]}")
    return True


def _stop(process: subprocess.Popen[str]) -> None:
    """Interrupt tests, and give them time to stop their servers."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _failed_tests(cache: Path) -> list[str]:
    return list(json.loads((cache / "v" / "cache" / "lastfailed").read_bytes()))


def check_committed() -> None:
    """Exit if the checkout has uncommitted changes, which a trial could lose."""
    command = ("git", "status", "--porcelain", "--untracked-files=no")
    changed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if changed:
        sys.exit(f"commit or stash these changes first:\n{changed}")


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("names", nargs="*", metavar="NUMBER | WORDS")
    arguments.add_argument("--list", action="store_true", help="print the rows; try none")
    given = arguments.parse_args()
    chosen = selected(mutations(), given.names)
    if given.list:
        for number, one in chosen.items():
            print(f"{number:2} {one.promise} ({one.file})\n   - {one.line}\n   + {one.broken}")
        return 0
    check_committed()
    signal.signal(signal.SIGTERM, _interrupt)
    trials = []
    for number, one in chosen.items():
        trial = try_mutation(one)
        print(f"{number:2} {trial.caught:14} {trial.seconds:4.0f} s  {one.promise} ({one.file})")
        sys.stdout.flush()
        trials.append(trial)
    counts = Counter(trial.caught for trial in trials)
    print(", ".join(f"{caught}: {counts[caught]}" for caught in Caught))
    return int(counts[Caught.NOT] > 0)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
