"""How SQLite opens a file and commits, and what its errors say."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnetl.base import private_files


def sqlite_path(path: Path) -> Path:
    """Return a path that SQLite does not take for a URI, as it may take one like `file:x/y`."""
    return path.absolute()


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """Open a database for several threads; `wait`: seconds to wait for other processes."""
    return sqlite3.connect(
        sqlite_path(path), timeout=wait, isolation_level=None, check_same_thread=False
    )


def ensure_private_file(path: Path) -> None:
    """Create a file and its folder for this user alone, if they do not exist."""
    private_files.create_folder(path.parent)
    # SQLite locks this file. Its other files have the mode of this one, and it follows no link to
    # them.
    private_files.check_no_link(path)
    private_files.ensure_file(path)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end of the block; roll back on any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may have rolled back by itself, for example with a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the lock at this moment."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def primary_code(error: Exception) -> int:
    """Return SQLite's error code without its extended part; 0 if there is none."""
    # Errors about values come from Python and have no code.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
