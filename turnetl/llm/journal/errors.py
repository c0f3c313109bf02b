"""Errors of a journal file, in sentences that say what to do."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnetl.base.errors import JournalUnusable

FAILURES = (sqlite3.Error, OSError, UnicodeError)
"""Exceptions of SQLite; UnicodeError where it quotes damaged text."""
_NO_LOSS = "turns in the graph are not requested again"


@contextmanager
def translated(path: Path, wait: float) -> Iterator[None]:
    """Translate SQLite's exceptions.

    Args:
        path: of the journal.
        wait: seconds spent waiting for other processes, for the message.

    Raises:
        JournalUnusable: says what is wrong and what to do.
    """
    try:
        yield
    except FAILURES as error:
        raise JournalUnusable(_sentence(path, error, wait)) from error


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the lock at this moment."""
    return _primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def not_a_journal(path: Path) -> JournalUnusable:
    return JournalUnusable(
        f"`{path}` is a database, but not a journal of turnetl: move it away and run again"
    )


def other_version(path: Path, version: int | str, supported: int) -> JournalUnusable:
    is_newer = isinstance(version, int) and version > supported
    remedy = "update turnetl" if is_newer else "use the turnetl that wrote it"
    return JournalUnusable(
        f"journal `{path}` has version {version}, and this turnetl supports version {supported}: "
        f"{remedy}, or move it away and run again; {_NO_LOSS}"
    )


def disk_full(path: Path, free: float) -> JournalUnusable:
    return JournalUnusable(
        f"the disk of journal `{path}` has {free / 1e6:,.0f} MB free: responses could be paid for "
        "and not stored; free some space (`turnetl journal prune` may help), then run again"
    )


def unreadable_row(path: Path, prompt_name: str) -> str:
    return f"journal `{path}`: cannot read a response to `{prompt_name}`; it is requested again"


def not_stored(count: int, error: JournalUnusable) -> str:
    responses = "1 response is" if count == 1 else f"{count:,} responses are"
    return f"{responses} paid for but not stored, and requested again if needed: {error}"


def _sentence(path: Path, error: Exception, wait: float) -> str:
    # First: SQLite's own error about a pipe is that of a full disk.
    if (special := _special_file(path)) is not None:
        return special
    if isinstance(error, OSError):
        return f"journal `{path}`: {error.strerror}; make sure that its folder is writable"
    match _primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"journal `{path}` was locked by another program for {wait:g} s: end the program "
                "that has it open and run again"
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return (
                f"journal `{path}` cannot be written ({error}): make sure that its disk has free "
                "space and is not damaged, then run again"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return (
                f"journal `{path}` cannot be opened for writing ({error}): make sure that it is a "
                "file that you may write, in a folder that you may write to"
            )
        case _:
            reason = "unreadable" if isinstance(error, UnicodeError) else str(error)
            return (
                f"journal `{path}` is damaged ({reason}): move it and its `-wal` and `-shm` files "
                f"away, and run again; {_NO_LOSS}"
            )


def _special_file(path: Path) -> str | None:
    """Return the sentence about a link, a pipe, a socket or a device; None for all else."""
    if path.is_symlink():
        return (
            f"journal `{path}` is a symbolic link, which turnetl does not follow: put the file "
            "there, or the lake where the file is"
        )
    if os.path.lexists(path) and not (path.is_file() or path.is_dir()):
        return f"journal `{path}` is no regular file: move it away and run again; {_NO_LOSS}"
    return None


def _primary_code(error: Exception) -> int:
    """Return SQLite's error code without its extended part; 0 if there is none."""
    # Errors about values come from Python and have no code.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
