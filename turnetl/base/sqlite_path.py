"""The path under which SQLite opens a file."""

from pathlib import Path


def sqlite_path(path: Path) -> Path:
    """Return a path that SQLite does not take for a URI, as it may take one like `file:x/y`."""
    return path.absolute()
