"""Damaged turns files that may hold turns which their archives lost: kept under another name."""

from collections.abc import Iterable
from pathlib import Path

from turnetl import damaged_copies
from turnetl.lake.paths import TURNS, entry_names
from turnetl.model import GroupId


def set_aside(path: Path) -> None:
    """Rename a damaged file; only the newest `damaged_copies.KEPT` of its name stay.

    Raises:
        OSError: it cannot be renamed.
    """
    path.replace(damaged_copies.copy_name(path))
    damaged_copies.remove_old(path)


def set_aside_files(root: Path, groups: Iterable[GroupId]) -> list[Path]:
    """Return the damaged files that are kept of these groups of a lake, sorted."""
    folders = [root / TURNS / group for group in groups]
    return sorted(
        folder / name
        for folder in folders
        for name in entry_names(folder)
        if damaged_copies.is_copy(name)
    )
