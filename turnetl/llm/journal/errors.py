"""What can be wrong with a journal's file, in sentences that say what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnetl.errors import JournalRefused

FAILURES = (sqlite3.Error, OSError, UnicodeError)
"""What comes out of SQLite; the last where it quotes what is damaged."""
_NO_LOSS = "turns that are in the graph are not asked for again"


@contextmanager
def translated(path: Path, wait: float) -> Iterator[None]:
    """Turn SQLite's failures into sentences.

    Args:
        path: of the journal.
        wait: seconds that it was waited for others.

    Raises:
        JournalRefused: says what it is and how to go on.
    """
    try:
        yield
    except FAILURES as error:
        raise JournalRefused(_sentence(path, error, wait)) from error


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else has it locked at this moment."""
    return _primary(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def not_a_journal(path: Path) -> JournalRefused:
    return JournalRefused(
        f"`{path}` is a database, but no journal of turnetl's: move it away and run again"
    )


def other_version(path: Path, found: int | str, known: int) -> JournalRefused:
    return JournalRefused(
        f"journal `{path}` has form {found}, this turnetl knows form {known}: use the turnetl that "
        f"wrote it, or move it away and run again; {_NO_LOSS}"
    )


def disk_full(path: Path, left: float) -> JournalRefused:
    return JournalRefused(
        f"the disk of journal `{path}` has {left / 1e6:,.0f} MB left: answers could be paid for "
        "and not kept; make room (`turnetl journal prune` may help), then run again"
    )


def unreadable_row(path: Path, prompt: str) -> str:
    return f"journal `{path}`: an answer to `{prompt}` cannot be read; it is asked for again"


def not_stored(number: int, error: JournalRefused) -> str:
    answers = "1 answer is" if number == 1 else f"{number:,} answers are"
    return f"{answers} paid for and not kept, and asked for again if needed: {error}"


def _sentence(path: Path, error: Exception, wait: float) -> str:
    if isinstance(error, OSError):
        return f"journal `{path}`: {error.strerror}; see that its folder can be written to"
    match _primary(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"journal `{path}` was locked by another program for {wait:g} s: end what has it "
                "open and run again"
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return (
                f"journal `{path}` cannot be written ({error}): see that its disk has room and is "
                "sound, then run again"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return (
                f"journal `{path}` cannot be opened for writing ({error}): see that it is a file "
                "that you may write, in a folder that you may write to"
            )
        case _:
            what = "unreadable" if isinstance(error, UnicodeError) else str(error)
            return (
                f"journal `{path}` is damaged ({what}): move it and its `-wal` and `-shm` away, "
                f"and run again; {_NO_LOSS}"
            )


def _primary(error: Exception) -> int:
    """Return SQLite's code without what it says in particular; 0 if it has none."""
    # Python's own complaints of values have no code.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
