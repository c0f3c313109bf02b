"""Many files, or a large one, in batches that fit into memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from turnetl import schema
from turnetl.errors import Retryable
from turnetl.lake.parquet import check_columns, read_error

_SIZE = 16 << 20
"""Bytes of the files of a batch; in memory they are up to ten times as many."""

_Stamp = tuple[int, int, int]
"""A file's number, its time and its bytes."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table; they can be read again and again."""

    rows: pl.LazyFrame
    paths: tuple[Path, ...] = ()
    table: schema.Table = schema.TURNS
    stamps: tuple[_Stamp, ...] = ()
    """Of each path, when the batch was made."""

    def read(self, *columns: pl.Expr) -> pl.DataFrame:
        """Return the columns, all if none is named.

        Raises:
            Stop: a file cannot be read; says which.
        """
        try:
            return (self.rows.select(columns) if columns else self.rows).collect()
        except (OSError, pl.exceptions.PolarsError):
            for path in self.paths:
                _read(path, self.table)
            raise

    def reread(self) -> pl.DataFrame:
        """Return all rows as they were before.

        Raises:
            Stop: as of `read`.
            Later: another process has replaced a file meanwhile; says which.
        """
        rows = self.read()
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            if _stamp(path) != stamp:
                raise Retryable(f"`{path}` was replaced while it was read; run again")
        return rows


def batches(paths: Iterable[Path], table: schema.Table, *, size: int = _SIZE) -> list[Batch]:
    """Return the rows of the files, in the order given; opens small ones when they are read."""
    return [
        batch
        for some in _some(paths, size)
        for batch in ([_batch(some, table)] if len(some) > 1 else _pieces(some[0], table, size))
    ]


def _some(paths: Iterable[Path], size: int) -> Iterator[tuple[Path, ...]]:
    """Yield so many files at once that they have that many bytes; a large one alone."""
    some: list[Path] = []
    held = 0
    for path in paths:
        here = _bytes(path)
        if some and held + here > size:
            yield tuple(some)
            some, held = [], 0
        some.append(path)
        held += here
    if some:
        yield tuple(some)


def _pieces(path: Path, table: schema.Table, size: int) -> Iterator[Batch]:
    """Yield the rows of one file, some at once if it is large."""
    number = -(-_bytes(path) // size)
    if number <= 1:
        yield _batch((path,), table)
        return
    whole = _batch((path,), table)
    rows = whole.read(pl.len()).item()
    step = max(1, -(-rows // number))
    for first in range(0, rows, step):
        yield replace(whole, rows=whole.rows.slice(first, step))


def _batch(paths: tuple[Path, ...], table: schema.Table) -> Batch:
    rows = pl.scan_parquet(list(paths), schema=table.polars, glob=False)
    return Batch(rows, paths, table, tuple(_stamp(path) for path in paths))


def _bytes(path: Path) -> int:
    return _stamp(path)[-1]


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError as error:
        raise read_error(path, "cannot be read") from error
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: Path, table: schema.Table) -> None:
    check_columns(path, table)
    try:
        pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise read_error(path, "cannot be read") from error
