"""How SQLite opens a file, and what its errors say."""

import sqlite3
from pathlib import Path


def sqlite_path(path: Path) -> Path:
    """Return a path that SQLite does not take for a URI, as it may take one like `file:x/y`."""
    return path.absolute()


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process holds the lock at this moment."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def primary_code(error: Exception) -> int:
    """Return SQLite's error code without its extended part; 0 if there is none."""
    # Errors about values come from Python and have no code.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
