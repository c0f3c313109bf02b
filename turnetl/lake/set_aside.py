"""Damaged turns files that may hold turns which their archives lost: kept under another name."""

from collections.abc import Iterable
from pathlib import Path

from turnetl.base import damaged_copies
from turnetl.base.model import GroupId
from turnetl.lake.files import LakeFiles
from turnetl.lake.paths import TURNS


def set_aside(files: LakeFiles, path: Path) -> None:
    """Rename a damaged file; only the newest `damaged_copies.KEPT` of its name stay."""
    files.fetch([path])
    files.rename(path, damaged_copies.copy_name(path))
    names = files.names(path.parent)
    for old in damaged_copies.too_many(path, names):
        files.delete(path.with_name(old))


def set_aside_files(files: LakeFiles, groups: Iterable[GroupId]) -> list[Path]:
    """Return the damaged files that are kept of these groups of a lake, sorted."""
    folders = [files.root / TURNS / group for group in groups]
    return sorted(
        folder / name
        for folder in folders
        for name in files.names(folder)
        if damaged_copies.is_copy(name)
    )
