"""Copies of damaged files, kept beside the file under names that say when it was last written."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

KEPT = 3
"""Copies of a file that stay: the newest."""
_MARK = ".damaged-"


def copy_name(path: Path) -> Path:
    """Return the name under which the present content of a file is kept."""
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return path.with_name(f"{path.name}{_MARK}{written:%Y%m%dT%H%M%S.%fZ}")


def is_copy(name: str) -> bool:
    return _MARK in name


def copies(path: Path) -> list[Path]:
    prefix = f"{path.name}{_MARK}"
    return sorted(file for file in path.parent.iterdir() if file.name.startswith(prefix))


def too_many(path: Path, names: Iterable[str]) -> list[str]:
    """Return those of the names in its folder that are copies of a file but not the newest."""
    return sorted(name for name in names if name.startswith(f"{path.name}{_MARK}"))[:-KEPT]


def remove_old(path: Path) -> None:
    for old in copies(path)[:-KEPT]:
        old.unlink()
