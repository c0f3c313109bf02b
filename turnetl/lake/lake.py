"""The tables of a folder, and where they lie.

    <root>/turns/<group>/<digest of the archive's path>.parquet     one file an archive
    <root>/episodes/<group>.parquet                                 one file a group

A turns file says in its own metadata which archive it was read from: it is its own watermark.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from turnetl import ids, schema
from turnetl.errors import Fatal
from turnetl.lake.batches import Batch, batches
from turnetl.lake.parquet import (
    read_metadata,
    scan,
    scan_snapshot,
    sync_folder,
    write_slices_as_row_groups,
    write_table,
)
from turnetl.lake.values import episode_from_row, turn_from_row
from turnetl.model import Episode, GroupId, Turn, TurnId


@dataclass(frozen=True, slots=True)
class ArchiveMetadata:
    """Which archive a turns file was read from, as it was then."""

    archive: str
    """Path, from the root."""
    size: int
    mtime_ns: int
    sha256: str
    format: str
    reader_version: int
    """Version of the format's reader."""
    redactor_version: str
    """Version of what cut the secrets out."""
    group: GroupId
    group_is_explicit: bool
    """Whether a person named the group."""
    counts: Mapping[str, Any]
    """Lines, turns and the rest, by name; `skipped` by reason."""
    schema: int = schema.TURNS.version
    cwd: str | None = None
    """The first folder that the archive names, redacted: what its group is named after."""
    format_is_explicit: bool = False
    """Whether a person named the format."""


@dataclass(frozen=True, slots=True)
class TurnFile:
    """One turns file and what it says of itself."""

    path: Path
    metadata: ArchiveMetadata


class Lake:
    """The tables under one folder. Nothing is created before the first write."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def groups(self) -> list[GroupId]:
        """Return the groups that have turns files or an episodes table, sorted."""
        turns = {path.parent.name for path in self.turn_paths()}
        episodes = {path.stem for path in self.episodes_folder.glob("*.parquet")}
        return [GroupId(name) for name in sorted(turns | episodes)]

    def groups_without_turns(self) -> list[GroupId]:
        """Return the groups whose archives went to other groups, and whose episodes are left."""
        return [group for group in self.groups() if not self.turn_paths(group)]

    def turn_paths(self, group: GroupId | None = None) -> list[Path]:
        """Return the turns files of a group or of all, sorted; opens none."""
        groups = [group] if group is not None else _names(self._turns)
        return [
            self._turns / of / name
            for of in groups
            for name in _names(self._turns / of)
            if name.endswith(".parquet")
        ]

    def turn_files(self, group: GroupId | None = None) -> list[TurnFile]:
        """Return what each turns file says of itself, by path; reads no row.

        Files of an older schema, and such as turnetl did not write, are left out.
        """
        found = ((path, self.archive_metadata(path)) for path in self.turn_paths(group))
        return [TurnFile(path, origin) for path, origin in found if origin is not None]

    def archive_metadata(self, path: Path) -> ArchiveMetadata | None:
        """Return what a turns file says of itself, or None if it says nothing we know."""
        try:
            origin = msgspec.json.decode(read_metadata(path), type=ArchiveMetadata)
        except (Fatal, msgspec.DecodeError):
            return None
        return origin if origin.schema == schema.TURNS.version else None

    def write_turns(
        self,
        turns: pl.DataFrame | pa.Table,
        origin: ArchiveMetadata,
        *,
        digest: str | None = None,
        previous_files: Iterable[Path] | None = None,
    ) -> Path:
        """Write an archive's turns in place of what it gave before, also in another group.

        A power cut may take a new file back until `sync_turns` is called, never a part of it.

        Args:
            turns: rows of `schema.TURNS`.
            origin: the archive.
            digest: its `archive_digest`, if that is known.
            previous_files: its turns files in other groups; None: they are looked up.
        """
        name = f"{digest or archive_digest(Path(origin.archive))}.parquet"
        path = self._turns / origin.group / name
        write_table(path, turns, schema.TURNS, msgspec.json.encode(origin, order="sorted").decode())
        others = _with_name(self._turns, name) if previous_files is None else previous_files
        for other in others:
            if other != path:
                self.delete_turns_file(other)
        return path

    def sync_turns(self) -> None:
        """Make what `write_turns` wrote last: for many files once is enough."""
        for group in _names(self._turns):
            sync_folder(self._turns / group)

    def delete_turns_file(self, turns_file: Path) -> None:
        """Remove a turns file, if it is there."""
        turns_file.unlink(missing_ok=True)

    def scan_turns(self, group: GroupId) -> pl.LazyFrame:
        """Return the turns of a group: files by name, rows in the archive's order."""
        return scan(self.turn_paths(group), schema.TURNS)

    def turn_batches(self, group: GroupId) -> list[Batch]:
        """Return the rows of `scan_turns` in batches that fit into memory."""
        return batches(self.turn_paths(group), schema.TURNS)

    def turns(self, group: GroupId) -> Iterator[Turn]:
        """Yield the turns of `scan_turns` as values."""
        return (
            turn_from_row(row) for row in self.scan_turns(group).collect().iter_rows(named=True)
        )

    def write_episodes(
        self,
        group: GroupId,
        slices: Iterable[pl.DataFrame],
        metadata: Callable[[], Mapping[str, str]],
    ) -> None:
        """Write a group's episodes in place of those before, while they are being made.

        Args:
            group: whose they are.
            slices: rows of `schema.EPISODES`, in table order.
            metadata: what the table shall say of itself; asked when all rows are known.
        """

        def said() -> str:
            return msgspec.json.encode(metadata(), order="sorted").decode()

        write_slices_as_row_groups(self._episodes_path(group), slices, schema.EPISODES, said)
        sync_folder(self.episodes_folder)

    def episodes_metadata(self, group: GroupId) -> Mapping[str, str] | None:
        """Return what `write_episodes` was given, or None if the group has no such table."""
        path = self._episodes_path(group)
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(read_metadata(path), type=dict[str, str])
        except msgspec.DecodeError:
            return {}

    def scan_episodes(self, group: GroupId) -> pl.LazyFrame:
        """Return the episodes of a group in table order; no rows if there is no table.

        They stay the same while they are in use, also if the table is made anew meanwhile.
        """
        path = self._episodes_path(group)
        return scan_snapshot(path, schema.EPISODES) if path.exists() else scan([], schema.EPISODES)

    def episodes(
        self, group: GroupId, turn_ids: Collection[TurnId] | None = None
    ) -> Iterator[Episode]:
        """Yield a group's episodes as values, in table order; only those named, if any are."""
        rows = self.scan_episodes(group)
        if turn_ids is not None:
            rows = rows.filter(pl.col("turn_id").is_in(sorted(turn_ids)))
        return (episode_from_row(row) for row in rows.collect().iter_rows(named=True))

    @property
    def _turns(self) -> Path:
        return self.root / "turns"

    @property
    def episodes_folder(self) -> Path:
        """Where the episodes tables are, and what waits to get into one; it may not be there."""
        return self.root / "episodes"

    def _episodes_path(self, group: GroupId) -> Path:
        return self.episodes_folder / f"{group}.parquet"


def archive_digest(archive: Path) -> str:
    """Return the name of an archive's turns file: the same however the path is written."""
    return archive_digests([archive])[0]


def archive_digests(archives: Iterable[Path]) -> list[str]:
    """Return `archive_digest` of many, following the links in their folders' names but once."""
    folders: dict[Path, Path] = {}
    return [ids.digest(path_text(_resolved(path, folders))) for path in archives]


def _resolved(path: Path, folders: dict[Path, Path]) -> Path:
    """Return where a path leads to; `folders` is what is known of folders."""
    # Not `resolve`: it raises for a link that leads to itself.
    if path.name in ("", "..") or os.path.islink(path):  # noqa: PTH114 - as above
        return Path(os.path.realpath(path))
    folder = path.parent
    if folder not in folders:
        folders[folder] = Path(os.path.realpath(folder))
    return folders[folder] / path.name


def path_text(path: Path) -> str:
    """Return a path as text that any table can hold, also if its bytes are no UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def absolute_path_text(path: Path) -> str:
    """Return a path from the root: it leads to the file from wherever it is read."""
    return path_text(Path(os.path.abspath(path)))  # noqa: PTH100 - takes `..` out, follows no link


def _names(folder: Path) -> list[str]:
    """Return what lies in a folder, sorted; nothing if it is none."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  ten thousand names, no paths
    except (FileNotFoundError, NotADirectoryError):
        return []


def _with_name(folder: Path, name: str) -> list[Path]:
    """Return the files of that name that lie in the folders of a folder."""
    found = [folder / group / name for group in _names(folder)]
    return [path for path in found if path.exists()]
