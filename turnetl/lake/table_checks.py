"""Read every table of a lake whole, and say of each that is not as it was written what is wrong.

A valid table may have the place of another one: its metadata and its rows say where it belongs.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from turnetl.base import damaged_copies, schema
from turnetl.base.batched import grouped
from turnetl.base.errors import TableUnusable
from turnetl.base.model import GroupId
from turnetl.base.private_files import open_regular
from turnetl.lake.checksum import ChecksumError, read_footer
from turnetl.lake.files import LakeFiles
from turnetl.lake.lake import Lake
from turnetl.lake.parquet import READ_ERRORS, check_columns, read_metadata, scan_unchecked, verify
from turnetl.lake.paths import TURNS, archive_digest, is_object, is_table
from turnetl.lake.versions import ArchiveMetadata, is_newer, is_read, stored_version


class TableState(StrEnum):
    """Why a table is not as it should be."""

    DAMAGED = "damaged"
    MISPLACED = "misplaced"
    """It is whole, and belongs elsewhere."""
    NEWER = "newer"
    """A newer turnetl wrote it."""
    NO_FILE = "no_file"
    """Something else has its name: a folder, a pipe."""
    UNREADABLE = "unreadable"
    """The file may not be read."""


@dataclass(frozen=True, slots=True)
class TableProblem:
    """A table that is not as it was written."""

    path: Path
    state: TableState
    problem: str
    """What is wrong, as the end of a sentence that begins with its path."""
    metadata: ArchiveMetadata | None = None
    """Of a turns file, as far as it can be read."""


def table_paths(lake: Lake) -> list[tuple[GroupId, Path, schema.Table]]:
    """Return all tables by their names, whatever has them: turns files, then episodes tables."""
    turns = [(GroupId(path.parent.name), path, schema.TURNS) for path in lake.turn_paths()]
    names = lake.files.names(lake.episodes_folder)
    episodes = [
        (GroupId(name.removesuffix(".parquet")), lake.episodes_folder / name, schema.EPISODES)
        for name in names
        if is_table(name)
    ]
    return [*turns, *episodes]


def check_table(
    lake: Lake, group: GroupId, path: Path, table: schema.Table
) -> tuple[TableProblem | None, ArchiveMetadata | None]:
    """Return what is wrong, but for `misplaced_files`, and the metadata of a turns file."""
    if (special := special_file(path)) is not None:
        state = TableState.UNREADABLE if "may not" in special else TableState.NO_FILE
        return TableProblem(path, state, special), None
    metadata = None
    try:
        text = read_metadata(path)
        version = stored_version(text)
        if version is not None and not is_read(version, table):
            state = TableState.NEWER if is_newer(version, table) else TableState.DAMAGED
            other = f"has version {version} of the `{table.name}` table, and not {table.version}"
            return TableProblem(path, state, other), None
        metadata = lake.archive_metadata(path) if table is schema.TURNS else None
        verify(path)
        check_columns(path, table)
    except TableUnusable:
        return TableProblem(path, TableState.DAMAGED, _damage(path, table), metadata), metadata
    problem = _wrong_content(group, path, table, metadata)
    if problem is not None:
        return TableProblem(path, TableState.MISPLACED, problem, metadata), metadata
    return None, metadata


def misplaced_files(files: Mapping[Path, ArchiveMetadata]) -> Iterator[TableProblem]:
    """Yield the turns files that are known to be those of other archives, by their metadata.

    A name is the digest of the archive's real path. If a link is gone, the name of another file
    tells.
    """
    names: dict[str, Path] = {path.stem: path for path in files}
    archives = grouped((metadata.archive, path) for path, metadata in files.items())
    for path, metadata in files.items():
        own = own_name(metadata)
        if own is None or own == path.stem:
            continue
        has_own = own in names or len(archives[metadata.archive]) > 1
        if has_own or is_object(Path(metadata.archive)) or Path(metadata.archive).exists():
            problem = f"holds the turns of another archive, `{metadata.archive}`"
            yield TableProblem(path, TableState.MISPLACED, problem, metadata)


def own_name(metadata: ArchiveMetadata) -> str | None:
    """Return the name of the turns file of an archive; None if it was imported."""
    if metadata.machine:
        return None
    return archive_digest(Path(metadata.archive))


def special_file(path: Path) -> str | None:
    """Return what has the name of a file and is none, or that it may not be read; else None."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"may not be read ({error.strerror})"
    if S_ISDIR(mode):
        return "is a folder"
    if not S_ISREG(mode):
        return "is no regular file, but a pipe, a socket or a device"
    return None if os.access(path, os.R_OK) else "may not be read (Permission denied)"


def _wrong_content(
    group: GroupId, path: Path, table: schema.Table, metadata: ArchiveMetadata | None
) -> str | None:
    """Return why a whole table is not that of its group and archive; None if it is."""
    if table is schema.TURNS and metadata is None:
        return "was not written by turnetl"
    if metadata is not None and metadata.group != group:
        return f"belongs to group `{metadata.group}`"
    is_turn = [schema.IS_TURN.alias("is_turn")] if table is schema.TURNS else []
    rows = scan_unchecked([path], table).select("group_id", *is_turn).collect()
    others = sorted(set(rows["group_id"].unique()) - {group})
    if others:
        return f"holds turns of group `{others[0]}`"
    if metadata is not None and metadata.turns != (turns := int(rows["is_turn"].sum())):
        return f"holds {turns:,} turns instead of {metadata.turns:,}"
    return None


def _damage(path: Path, table: schema.Table) -> str:
    """Return what is known of a table whose checksum does not verify."""
    with suppress(ChecksumError, *READ_ERRORS), open_regular(path) as file:
        if read_footer(file) is None:
            rows = scan_unchecked([path], table).collect().height
            return f"has no checksum, so that turnetl did not write it; its {rows:,} rows decode"
    return "is damaged"


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
