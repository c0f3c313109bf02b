"""Try in another process whether a Ladybug file can be opened.

A damaged log can end the process that replays it. As a program, this module imports nothing of
turnetl, so that it starts fast:

python probe.py PATH read|write|rows
"""

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

import ladybug

COMPRESSION = False
"""Whether a database compresses what it writes. Ladybug 0.22 stores floats that do not compress
beside the others, and loses some when it merges its log again: vectors then hold zeros."""
NEEDS_RECOVERY = "recovery is pending"
"""In Ladybug's message about a file whose writer ended while it merged its log into the file."""

_CRASHES = {
    -getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
    if hasattr(signal, name)
}
_KILLED = -getattr(signal, "SIGKILL", 0)
_FIRST_WINDOWS_CRASH = 0xC0000000


Action = Literal["read", "write", "rows"]


class FileState(IntEnum):
    """What happens when the file is opened; the value is the exit code of the program."""

    INTACT = 0
    DAMAGED_LOG = 10
    """It opens if a failure of the replay is tolerated."""
    UNRECOVERED = 11
    """Only a writer can open it; it then completes an interrupted merge."""
    UNREADABLE = 12
    """Not because of its log: opening it says why."""
    CRASH = 13
    """Replaying its log crashes, or asks for more memory than there can be."""
    KILLED = 14
    """The process that opened it was killed, as for lack of memory."""


def probe(path: Path, action: Action) -> FileState | None:
    """Open the file in another process; None if that process ended for another reason.

    `write` completes an interrupted merge; else nothing is changed. `rows` reads every row too.
    """
    # A session of its own: Ctrl-C must not look like a crash.
    result = subprocess.run(
        [sys.executable, "-P", __file__, str(path), action],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        start_new_session=True,
    )
    code = result.returncode
    if code in _CRASHES or code >= _FIRST_WINDOWS_CRASH:
        return FileState.CRASH
    if code < 0 and code == _KILLED:
        return FileState.KILLED
    return next((state for state in FileState if state == code), None)


def try_open(path: str, *, write: bool) -> FileState:
    """Open the file in this process, which a damaged log may end."""
    try:
        _open(path, write=write, strict=True)
    except RuntimeError as error:
        if NEEDS_RECOVERY in str(error):
            return FileState.UNRECOVERED
    except (MemoryError, ValueError):
        # A length in the log is wrong; the next one may be possible, and exhaust the memory.
        return FileState.CRASH
    else:
        return FileState.INTACT
    if write:
        return FileState.DAMAGED_LOG
    try:
        _open(path, write=False, strict=False)
    except RuntimeError:
        return FileState.UNREADABLE
    return FileState.DAMAGED_LOG


def _open(path: str, *, write: bool, strict: bool) -> None:
    with closing(
        ladybug.Database(
            path,
            read_only=not write,
            max_num_threads=1,
            compression=COMPRESSION,
            throw_on_wal_replay_failure=strict,
        )
    ):
        pass


def read_rows(path: str) -> FileState:
    """Read every row of the file in this process, which a damaged page may end."""
    try:
        with (
            closing(
                ladybug.Database(path, read_only=True, throw_on_wal_replay_failure=False)
            ) as database,
            closing(ladybug.Connection(database, num_threads=1)) as connection,
        ):
            execute: Callable[[str], Any] = connection.execute
            for name, kind in execute("CALL show_tables() RETURN name, type").get_all():
                pattern = f"(r:`{name}`)" if kind == "NODE" else f"()-[r:`{name}`]->()"
                rows = execute(f"MATCH {pattern} RETURN r")
                while rows.has_next():
                    rows.get_next()
    except RuntimeError as error:
        return FileState.UNRECOVERED if NEEDS_RECOVERY in str(error) else FileState.UNREADABLE
    except (MemoryError, ValueError, OverflowError):
        return FileState.UNREADABLE
    return FileState.INTACT


if __name__ == "__main__":
    state = (
        read_rows(sys.argv[1])
        if sys.argv[2] == "rows"
        else try_open(sys.argv[1], write=sys.argv[2] == "write")
    )
    sys.exit(state)
