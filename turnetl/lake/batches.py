"""Batches of rows that fit into memory: many small files at once, or a large file in pieces."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from turnetl.base import schema
from turnetl.base.errors import Retryable
from turnetl.base.object_url import shown_name
from turnetl.lake.parquet import check_columns, read_error, scan_unchecked, verify

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
    """Whether the checksums of the files are known to be right."""

    def read(self, *columns: pl.Expr) -> pl.DataFrame:
        """Return the columns, or all columns if none is named.

        Raises:
            TableUnusable: a file is damaged; the message names it.
        """
        for path in () if self.is_verified else self.paths:
            _verify(path, self.table)
        try:
            return (self.rows.select(columns) if columns else self.rows).collect()
        except (OSError, pl.exceptions.PolarsError):
            for path in self.paths:
                _verify(path, self.table)
            raise

    def reread(self) -> pl.DataFrame:
        """Return all rows, and verify that the files are those of the first read.

        Raises:
            Fatal: as for `read`.
            Retryable: another process replaced a file in the meantime; the message names it.
        """
        rows = self.read()
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            if _stamp(path) != stamp:
                raise Retryable(f"`{shown_name(path)}` was replaced while it was read; run again")
        return rows


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
    """Yield the rows of one file, in several batches if the file is large."""
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
