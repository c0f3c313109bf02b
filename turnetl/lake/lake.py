"""The tables of a lake and their paths.

    <root>/turns/<group>/<digest of the archive's path>.parquet     one file for each archive
    <root>/episodes/<group>.parquet                                 one file for each group

A turns file records the archive that it was parsed from: it is its own watermark. Rows are read in
batches of bounded size: several small files together, or a large file in parts.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from turnetl.base import schema
from turnetl.base.errors import LakeChanged, Retryable, TableUnusable
from turnetl.base.model import GroupId, Turn
from turnetl.base.object_url import shown_name
from turnetl.lake import versions
from turnetl.lake.episodes_tables import EpisodesTables, turn_from_row
from turnetl.lake.manifests import Manifests, metadata_or_none
from turnetl.lake.parquet import check_columns, read_error, scan, scan_unchecked, verify
from turnetl.lake.paths import (
    FORGOTTEN_TURNS,
    QUARANTINE,
    REDACTION_KEY,
    TURNS,
    archive_digest,
    entry_names,
    is_table,
)
from turnetl.lake.temporary import remove_abandoned
from turnetl.lake.versions import ArchiveMetadata, TurnFile

if TYPE_CHECKING:  # a run that writes no table does without it
    from turnetl.lake.parquet_writer import ArrowRows

_BATCH_BYTES = 16 << 20
"""File size of a batch. Its rows take up to ten times as much memory."""

_FileStamp = tuple[int, int, int]
"""Inode, modification time and size of a file."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, which can be read several times."""

    rows: pl.LazyFrame
    paths: tuple[Path, ...] = ()
    table: schema.Table = schema.TURNS
    stamps: tuple[_FileStamp, ...] = ()
    """Inode, modification time and size of each path when the batch was created."""
    is_verified: bool = False
    """Whether the files were verified; they are again if they changed since."""

    def read(self, *columns: pl.Expr) -> pl.DataFrame:
        """Return the columns, or all columns if none is named."""
        if not self.is_verified or any(self._changed()):
            self.verified()
        try:
            return (self.rows.select(columns) if columns else self.rows).collect()
        except (OSError, pl.exceptions.PolarsError):
            self.verified()
            raise

    def verified(self) -> "Batch":
        """Verify the files, for all later reads of the batch that is returned."""
        for path in self.paths:
            _verify(path, self.table)
        return replace(self, is_verified=True)

    def where(self, condition: pl.Expr) -> "Batch":
        """Return the rows that meet a condition."""
        return replace(self, rows=self.rows.filter(condition))

    def reread(self) -> pl.DataFrame:
        """Return all rows; raise `Retryable` if a file was replaced since the first read."""
        rows = self.read()
        for path in self._changed():
            raise Retryable(f"`{shown_name(path)}` was replaced while it was read; run again")
        return rows

    def _changed(self) -> Iterator[Path]:
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            if _stamp(path) != stamp:
                yield path


def batches(paths: Iterable[Path], table: schema.Table, *, size: int = _BATCH_BYTES) -> list[Batch]:
    """Return the rows of the files in the order given. Small files are opened on read only."""
    return [
        batch
        for group in _groups(paths, size)
        for batch in ([_batch(group, table)] if len(group) > 1 else _pieces(group[0], table, size))
    ]


def _groups(paths: Iterable[Path], size: int) -> Iterator[tuple[Path, ...]]:
    """Yield the files in groups of at most `size` bytes; a larger file is a group of its own."""
    group: list[Path] = []
    group_bytes = 0
    for path in paths:
        file_bytes = _file_bytes(path)
        if group and group_bytes + file_bytes > size:
            yield tuple(group)
            group, group_bytes = [], 0
        group.append(path)
        group_bytes += file_bytes
    if group:
        yield tuple(group)


def _pieces(path: Path, table: schema.Table, size: int) -> Iterator[Batch]:
    number = -(-_file_bytes(path) // size)
    if number <= 1:
        yield _batch((path,), table)
        return
    file = _batch((path,), table)
    height = file.read(pl.len()).item()
    step = max(1, -(-height // number))
    for first in range(0, height, step):
        yield replace(file, rows=file.rows.slice(first, step), is_verified=True)


def _batch(paths: tuple[Path, ...], table: schema.Table) -> Batch:
    rows = scan_unchecked(paths, table)
    return Batch(rows, paths, table, tuple(_stamp(path) for path in paths))


def _file_bytes(path: Path) -> int:
    return _stamp(path)[-1]


def _stamp(path: Path) -> _FileStamp:
    try:
        status = path.stat()
    except OSError as error:
        raise read_error(path, "cannot be read") from error
    return status.st_ino, status.st_mtime_ns, status.st_size


def _verify(path: Path, table: schema.Table) -> None:
    try:
        verify(path)
    finally:
        # Also of a file that turnetl did not write: its columns say more than its checksum.
        check_columns(path, table)


class Lake(EpisodesTables):
    """The tables of one lake. The first write creates its folder."""

    def groups(self) -> list[GroupId]:
        """Return the groups that have turns files or an episodes table, sorted."""
        self.files.check()
        tree = self.files.tree(self._turns_folder)
        turns = {name for name, names in tree.items() if any(map(is_table, names))}
        names = self.files.names(self.episodes_folder)
        episodes = {name.removesuffix(".parquet") for name in names if is_table(name)}
        return [GroupId(name) for name in sorted(turns | episodes)]

    def groups_without_turns(self) -> list[GroupId]:
        """Return the groups that have an episodes table only: their archives changed groups."""
        with_turns = {path.parent.name for path in self.turn_paths()}
        return [group for group in self.groups() if group not in with_turns]

    def turn_paths(self, group: GroupId | None = None) -> list[Path]:
        """Return the turns files of a group or of all groups, sorted. Opens no file."""
        return list(self._turn_paths(group))

    def _turn_paths(self, group: GroupId | None = None) -> Iterator[Path]:
        folder = self._turns_folder
        if group is None:
            tree = self.files.tree(folder)
        else:
            tree = {str(group): self.files.names(folder / group)}
        for name, files in tree.items():
            yield from map((folder / name).joinpath, filter(is_table, files))

    def turn_files(self, group: GroupId | None = None) -> list[TurnFile]:
        """Return the turns files that turnetl wrote, with their metadata, sorted by path."""
        return self._turn_files(self.turn_paths(group))

    def turn_files_of(self, groups: Collection[GroupId]) -> list[TurnFile]:
        """Return `turn_files` of some groups; faster than of each: files are listed once."""
        return self._turn_files([path for path in self.turn_paths() if path.parent.name in groups])

    def _turn_files(self, paths: Sequence[Path]) -> list[TurnFile]:
        files = zip(paths, self.archives_metadata(paths), strict=True)
        return [TurnFile(path, metadata) for path, metadata in files if metadata is not None]

    def archives_metadata(self, paths: Sequence[Path]) -> list[ArchiveMetadata | None]:
        """Return `archive_metadata` of many turns files. Most files need not be fetched."""
        texts = Manifests(self.files).metadata(paths)
        return [_archive_metadata(path, texts[path]) for path in paths]

    def archive_metadata(self, path: Path) -> ArchiveMetadata | None:
        """Return the metadata of a turns file, or None if turnetl did not write the file."""
        self.files.fetch([path])
        return _archive_metadata(path, metadata_or_none(path))

    def check_version(self) -> None:
        """Reject a lake of another schema version, which all its turns files have: one is read."""
        self.files.check()
        for path in islice(self._turn_paths(), 1):
            self.archive_metadata(path)

    def write_turns(
        self,
        turns: "pl.DataFrame | ArrowRows",
        metadata: ArchiveMetadata,
        *,
        digest: str | None = None,
        previous_files: Iterable[Path] | None = None,
        may_replace: Callable[[ArchiveMetadata | None], bool] = lambda _: True,
    ) -> Path:
        """Write an archive's turns; they replace its previous turns files, also of other groups.

        A power failure may undo the write until `sync_turns` is called; it leaves no partial file.

        Args:
            turns: rows of `schema.TURNS`.
            metadata: the archive.
            digest: its `archive_digest`, if it is known.
            previous_files: the archive's turns files; None: they are looked up.
            may_replace: whether a turns file with this metadata (None: not turnetl's) may be
                replaced; else `LakeChanged` is raised, as if another process replaced it.
        """
        from turnetl.lake.parquet_writer import write_table  # noqa: PLC0415 - pyarrow

        name = f"{digest or archive_digest(Path(metadata.archive))}.parquet"
        path = self._turns_folder / metadata.group / name
        text = _metadata_text(metadata)

        def check() -> None:
            # An object store checks the state that was read, by the condition of the request.
            current = metadata_or_none(path) if path.exists() else None
            if not may_replace(_archive_metadata(path, current)):
                raise LakeChanged(
                    f"another process replaced `{self.files.name(path)}` while this one used it; "
                    "repeat the command, which continues from there"
                )

        replace = partial(self.files.replace, check=check)
        write_table(path, turns, schema.TURNS, text, replace)
        if previous_files is None:
            tree = self.files.tree(self._turns_folder)
            previous_files = [self._turns_folder / group / name for group in tree]
        for previous in previous_files:
            if previous != path:
                self.files.delete(previous)
        return path

    def turns_bytes(self, rows: pl.DataFrame, metadata: ArchiveMetadata) -> bytes:
        """Return the turns file that `write_turns` writes. Writes nothing."""
        from turnetl.lake.parquet_writer import table_bytes  # noqa: PLC0415 - pyarrow

        path = Path(metadata.archive)
        return table_bytes(path, rows, schema.TURNS, _metadata_text(metadata))

    def sync_turns(self) -> None:
        """Make the files of `write_turns` durable. One call is enough for many files."""
        for group in entry_names(self._turns_folder):
            self.files.sync(self._turns_folder / group)
        Manifests(self.files).update(self.turn_paths)

    def remove_abandoned(self) -> int:
        by_group = (self._turns_folder, self.root / QUARANTINE)
        folders = [folder / group for folder in by_group for group in entry_names(folder)]
        return sum(map(remove_abandoned, [self.root, self.episodes_folder, *folders]))

    def fetch_tables(self) -> None:
        """Make all tables readable below `root`, with what they depend on."""
        for folder in (self._turns_folder, self.episodes_folder, self.root / QUARANTINE):
            self.files.fetch_all(folder)
        self.files.fetch([self.root / REDACTION_KEY, self.root / FORGOTTEN_TURNS])

    def read_turns_file(self, path: Path) -> pl.DataFrame:
        self.files.fetch([path])
        return scan([path], schema.TURNS).collect()

    def scan_turns(self, group: GroupId) -> pl.LazyFrame:
        """Return the turns of a group: files sorted by name, rows in archive order."""
        rows = scan(self._fetched(self.turn_paths(group)), schema.TURNS)
        return rows.filter(schema.IS_TURN)

    def count_turns(self, group: GroupId) -> int:
        turns: set[str] = set()
        for batch in self.turn_batches(group):
            turns.update(batch.read(pl.col("turn_id"))["turn_id"])
        return len(turns)

    def turn_batches(self, group: GroupId) -> list[Batch]:
        """Return the rows of `scan_turns` in batches that fit into memory."""
        return [batch.where(schema.IS_TURN) for batch in self.row_batches(group)]

    def row_batches(self, group: GroupId) -> list[Batch]:
        """Return the turns of a group, and the runs of subagents, in batches."""
        return batches(self._fetched(self.turn_paths(group)), schema.TURNS)

    def changed_turns(self, group: GroupId) -> list[Path]:
        """Return the turns files that were written after the group's episodes table.

        None of an object store, which keeps what it was given. What `doubt` names is among them.
        """
        if self.files.has_versions:
            return []
        paths = self.turn_paths(group)
        try:
            filtered_at = self.episodes_path(group).stat().st_mtime_ns
        except OSError:  # The filter reads all of them.
            return []
        return [path for path in paths if _changed_at(path) >= filtered_at]

    def verify_changed_turns(self, group: GroupId) -> None:
        """Verify `changed_turns`, and record that by the time of the group's episodes table."""
        changed = self.changed_turns(group)
        for path in changed:
            verify(path)
        if changed:
            with suppress(OSError):
                os.utime(self.episodes_path(group))

    def is_whole(self, path: Path) -> bool:
        """Read a table completely; return whether it is as it was written."""
        try:
            verify(path)
        except TableUnusable:
            return False
        return True

    def doubt(self, path: Path) -> None:
        """Have the next run verify a turns file whole; its content stays as it is."""
        if not self.files.has_versions:
            with suppress(OSError):
                os.utime(path)

    def turns(self, group: GroupId) -> Iterator[Turn]:
        rows = self.scan_turns(group).collect()
        return (turn_from_row(row) for row in rows.iter_rows(named=True))

    @property
    def _turns_folder(self) -> Path:
        return self.root / TURNS


def _changed_at(path: Path) -> int:
    """Return when a file was changed last, also if its modification time was set back."""
    try:
        status = path.stat()
    except OSError:
        return 0
    # On Windows, the other one is the time of creation.
    return status.st_mtime_ns if os.name == "nt" else max(status.st_mtime_ns, status.st_ctime_ns)


def _metadata_text(metadata: ArchiveMetadata) -> str:
    """Return the metadata as a turns file has them, without what only some files have."""
    values = msgspec.to_builtins(metadata)
    for name in ("e_tag", "machine", "original_digest"):
        if not values[name]:
            del values[name]
    if metadata.schema in schema.TURNS.later_columns:
        # The rows of an older file have all columns now.
        values["schema"] = schema.TURNS.version
    # No usage is not the same as usage that is not recorded.
    if values["subagent_usage"] is None:
        del values["subagent_usage"]
    return msgspec.json.encode(values, order="sorted").decode()


def _archive_metadata(path: Path, metadata: str | None) -> ArchiveMetadata | None:
    if metadata is None:
        return None
    versions.check_version(path, metadata, schema.TURNS)
    try:
        return msgspec.json.decode(metadata, type=ArchiveMetadata)
    except msgspec.DecodeError:
        return None
