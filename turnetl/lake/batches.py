"""Many files, or a large one, in batches that fit into memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from turnetl import schema
from turnetl.lake.parquet import check, refusal

_SIZE = 16 << 20
"""Bytes of the files of a batch; in memory they are up to ten times as many."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table; they can be read again and again."""

    rows: pl.LazyFrame
    paths: tuple[Path, ...] = ()
    table: schema.Table = schema.TURNS

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
    rows = Batch(_scan((path,), table), (path,), table).read(pl.len()).item()
    step = max(1, -(-rows // number))
    for first in range(0, rows, step):
        yield Batch(_scan((path,), table).slice(first, step), (path,), table)


def _batch(paths: tuple[Path, ...], table: schema.Table) -> Batch:
    return Batch(_scan(paths, table), paths, table)


def _scan(paths: tuple[Path, ...], table: schema.Table) -> pl.LazyFrame:
    return pl.scan_parquet(list(paths), schema=table.polars, glob=False)


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise refusal(path, "cannot be read") from error


def _read(path: Path, table: schema.Table) -> None:
    check(path, table)
    try:
        pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise refusal(path, "cannot be read") from error
