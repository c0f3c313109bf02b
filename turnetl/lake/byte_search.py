"""Search the bytes of files for texts, also inside compressed tables and databases."""

import mmap
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from turnetl.base.object_url import shown_name
from turnetl.base.results import described
from turnetl.base.sqlite import sqlite_path
from turnetl.lake.checksum import PARQUET_MAGIC
from turnetl.lake.parquet import READ_ERRORS

_SQLITE = b"SQLite format 3\0"
_PARQUET_NAME = ".parquet"
"""Also in the names of temporary and of damaged tables."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """A place that still holds what was to be forgotten."""

    path: Annotated[
        str,
        described("The file; `graph`, or its URL without a password, for the values of the graph."),
    ]
    place: Annotated[str, described("Where in it.")]


def files_under(roots: Iterable[Path]) -> list[Path]:
    """Return these files, and all files in these folders, sorted."""
    files = set[Path]()
    for root in roots:
        if root.is_dir():
            files.update(path for path in root.rglob("*") if path.is_file())
        elif root.is_file():
            files.add(root)
    return sorted(files)


def search_files(paths: Iterable[Path], texts: Sequence[str]) -> list[FoundText]:
    """Return where files hold one of the texts, in UTF-8.

    The name and the bytes of every file are searched. Of a Parquet file the columns and the
    metadata are too, because they are compressed, and of a SQLite database the values, because a
    long one is split. A Parquet file that cannot be read may hold everything: it is such a place. A
    file that disappears meanwhile holds nothing.
    """
    if not texts:
        return []
    pattern = re.compile(b"|".join(re.escape(text.encode()) for text in texts))
    found = []
    for path in paths:
        try:
            places = sorted({*_places(path, pattern, texts)})
        except FileNotFoundError:
            continue
        found += [FoundText(shown_name(path), place) for place in places]
    return found


def _places(path: Path, pattern: re.Pattern[bytes], texts: Sequence[str]) -> Iterator[str]:
    if any(text in path.name for text in texts):
        yield "file name"
    if path.stat().st_size == 0:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if match := pattern.search(data):
            yield f"byte {match.start():,}"
        start = data[: len(_SQLITE)]
    if start.startswith(PARQUET_MAGIC) or _PARQUET_NAME in path.name:
        try:
            yield from _parquet_places(path, texts)
        except READ_ERRORS:
            yield "table that cannot be read"
    elif start == _SQLITE:
        yield from _sqlite_places(path, pattern)


def _parquet_places(path: Path, texts: Sequence[str]) -> Iterator[str]:
    data = path.read_bytes()
    metadata = pl.read_parquet_metadata(data)
    if any(text in value for value in metadata.values() for text in texts):
        yield "metadata"
    rows = pl.read_parquet(data)
    for name in rows.columns:
        flat = rows.select(holds_any(name, rows.schema[name], texts)).to_series()
        if flat.any():
            yield f"column {name}"


def holds_any(column: str, dtype: pl.DataType, texts: Sequence[str]) -> pl.Expr:
    """Return whether a column of texts, of lists or of structs holds one of the texts."""
    return _holds(pl.col(column), dtype, texts).fill_null(value=False).alias(column)


def _holds(value: pl.Expr, dtype: pl.DataType, texts: Sequence[str]) -> pl.Expr:
    match dtype:
        case pl.String():
            return value.str.contains_any(list(texts))
        case pl.List():
            inner = _as_type(dtype.inner)
            return value.list.eval(_holds(pl.element(), inner, texts)).list.any()
        case pl.Struct():
            fields = [
                _holds(value.struct.field(field.name), _as_type(field.dtype), texts)
                for field in dtype.fields
            ]
            return pl.any_horizontal(fields)
        case _:
            return pl.lit(value=False)


def _as_type(dtype: Any) -> pl.DataType:
    """Return an instance of a type, which polars may name by its class."""
    instance: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return instance


def _sqlite_places(path: Path, pattern: re.Pattern[bytes]) -> Iterator[str]:
    with closing(sqlite3.connect(sqlite_path(path))) as connection:
        connection.text_factory = bytes
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (name,) in names.fetchall():
            table = name.decode()
            for row in connection.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - its own name
                if any(isinstance(value, bytes) and pattern.search(value) for value in row):
                    yield f"table {table}"
                    break
