"""Damaged turns files that may hold turns which their archives lost: kept under another name."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from turnetl.lake.paths import TURNS, entry_names
from turnetl.model import GroupId

KEPT_FILES = 3
"""Damaged files that stay of each archive."""
_MARK = ".damaged-"


def set_aside_name(path: Path) -> Path:
    """Return the name under which a damaged file is kept, by the time when it was written."""
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return path.with_name(f"{path.name}{_MARK}{written:%Y%m%dT%H%M%S.%fZ}")


def set_aside(path: Path) -> None:
    """Rename a damaged file; only the newest `KEPT_FILES` of its name stay.

    Raises:
        OSError: it cannot be renamed.
    """
    path.replace(set_aside_name(path))
    prefix = f"{path.name}{_MARK}"
    kept = sorted(file for file in path.parent.iterdir() if file.name.startswith(prefix))
    for old in kept[:-KEPT_FILES]:
        old.unlink()


def set_aside_files(root: Path, groups: Iterable[GroupId]) -> list[Path]:
    """Return the damaged files that are kept of these groups of a lake, sorted."""
    folders = [root / TURNS / group for group in groups]
    return sorted(
        folder / name for folder in folders for name in entry_names(folder) if _MARK in name
    )
