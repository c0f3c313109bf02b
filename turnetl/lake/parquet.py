"""One Parquet file: written atomically and checked against its table on every access."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa

from turnetl import schema
from turnetl.errors import Fatal, TableUnusable
from turnetl.lake.checksum import ChecksumError, read_footer, sealed
from turnetl.lake.checksum import verify as verify_file
from turnetl.lake.encoding import KEY, encode, write_row_groups
from turnetl.lake.temporary import replace_file
from turnetl.lake.versions import check_version

READ_ERRORS = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading a damaged file raises. A panic of polars is no `Exception`."""


def write_table(
    path: Path,
    rows: pl.DataFrame | pa.Table,
    table: schema.Table,
    metadata: str,
    root: Path | None = None,
) -> None:
    """Write a table atomically: to a temporary name, synced, then renamed.

    A power failure may undo the rename until `sync_folder` is called for the folder.

    Args:
        path: the file to write.
        rows: the table's columns in their order.
        table: the schema that the rows must have.
        metadata: the text to store in the file.
        root: of the lake: new folders and files below it let its group in, if it does.

    Raises:
        Fatal: a column is missing, unknown or of another type, or the file cannot be written.
    """
    data = encode(_checked(path, rows, table), metadata)
    _replace(path, lambda file: file.writelines(sealed(data)), root)


def write_slices(
    path: Path,
    slices: Iterable[pl.DataFrame],
    table: schema.Table,
    metadata: Callable[[], str],
    root: Path | None = None,
) -> None:
    """Write a table from slices of its rows, as `write_table` does; at most two are in memory.

    Args:
        path: the file to write.
        slices: the table's rows in their order. The bytes also depend on the slice boundaries.
        table: the schema that the rows must have.
        metadata: the text to store in the file; called after the last slice.
        root: as for `write_table`.

    Raises:
        Fatal: as for `write_table`.
    """
    remaining = iter(slices)
    first = list(islice(remaining, 1)) or [pl.DataFrame(schema=table.polars)]
    second = list(islice(remaining, 1))
    if not second:
        write_table(path, first[0], table, metadata(), root)
        return
    all_slices = chain(_drain(first), _drain(second), remaining)
    tables = (_checked(path, rows, table) for rows in all_slices)
    columns = arrow_schema(table)
    _replace(path, lambda file: write_row_groups(tables, columns, metadata, file), root)


def _drain(rows: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the elements of the list and release each from memory."""
    while rows:
        yield rows.pop()


def read_metadata(path: Path) -> str:
    """Return the metadata of a file, or an empty text if turnetl did not write it. Reads no row.

    Raises:
        TableUnusable: the file cannot be read, or its footer is damaged.
    """
    with reading(path):
        return _metadata(_footer(path))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Read a file.

    Raises:
        TableUnusable: it cannot be read.
    """
    try:
        yield
    except ChecksumError as error:
        raise read_error(path, "is damaged") from error
    except READ_ERRORS as error:
        raise read_error(path, "cannot be read") from error


def verify(path: Path) -> None:
    """Read all bytes of a file and compare its checksum.

    Raises:
        TableUnusable: the file cannot be read, or its bytes are not those that were written.
    """
    with reading(path), path.open("rb") as file:
        verify_file(file)


def scan(paths: Iterable[Path], table: schema.Table) -> pl.LazyFrame:
    """Return the rows of the files, in the order given. All bytes are verified first.

    Raises:
        Fatal: a file is damaged, or has another schema version or other columns.
    """
    paths = list(paths)
    for path in paths:
        check_columns(path, table)
        verify(path)
    return scan_unchecked(paths, table)


def scan_unchecked(paths: Iterable[Path], table: schema.Table) -> pl.LazyFrame:
    """Return the rows of the files, in the order given. Opens no file."""
    # Absolute, because polars takes `file:x` for an address and `~` for the home folder.
    sources = [path.absolute() for path in paths]
    if not sources:
        return pl.LazyFrame(schema=table.polars)
    return pl.scan_parquet(sources, schema=table.polars, glob=False)


def scan_snapshot(path: Path, table: schema.Table) -> pl.LazyFrame:
    """Return the rows of a file in its current version, however often they are read.

    A new file may replace it in the meantime, except on Windows while the rows are in use.

    Raises:
        Fatal: as for `scan`.
    """
    check_columns(path, table)
    with reading(path), path.open("rb") as file:
        # polars takes the path of the open file.
        return pl.scan_parquet(file, schema=table.polars, glob=False)


def check_columns(path: Path, table: schema.Table) -> None:
    """Raise `Fatal` unless the file has the table's schema version and columns. Reads no row."""
    with reading(path):
        footer = _footer(path)
        columns = pl.read_parquet_schema(footer)
        metadata = _metadata(footer)
    check_version(path, metadata, table)
    _check(path, columns, table)


def read_error(path: Path, problem: str) -> TableUnusable:
    """Return the error for a file that cannot be used."""
    return TableUnusable(path, f"`{path}` {problem}; delete it, and the next run creates it again.")


def write_error(path: Path, error: OSError) -> Fatal:
    """Return the error for a file that the operating system did not write."""
    cause = error.strerror or str(error)
    return Fatal(f"`{path}` cannot be written ({cause}); free disk space or name another lake.")


@cache
def arrow_schema(table: schema.Table) -> pa.Schema:
    """Return the columns as they are written."""
    columns = pl.DataFrame(schema=table.polars).to_arrow().schema
    return pa.schema([pa.field(column.name, _parquet_type(column.type)) for column in columns])


def _parquet_type(dtype: pa.DataType) -> pa.DataType:
    """Return a type whose list elements have the name that the Parquet format requires."""
    if pa.types.is_large_list(dtype):
        return pa.large_list(pa.field("element", _parquet_type(dtype.value_type)))
    if pa.types.is_struct(dtype):
        return pa.struct([pa.field(field.name, _parquet_type(field.type)) for field in dtype])
    return dtype


def _checked(path: Path, rows: pl.DataFrame | pa.Table, table: schema.Table) -> pa.Table:
    if isinstance(rows, pl.DataFrame):
        _check(path, rows.schema, table)
        return rows.to_arrow().cast(arrow_schema(table))
    if rows.schema != arrow_schema(table):
        _check(path, pl.Schema(pl.DataFrame(rows).schema), table)
    return rows


def _replace(path: Path, write: Callable[[IO[bytes]], object], root: Path | None) -> None:
    try:
        replace_file(path, write, root)
    except OSError as error:
        raise write_error(path, error) from error


def _metadata(footer: bytes) -> str:
    return pl.read_parquet_metadata(footer).get(KEY, "")


def _footer(path: Path) -> bytes:
    """Return the footer of a file: polars would expand a path with glob characters.

    Of a file without a checksum, which turnetl did not write: all bytes.
    """
    # Unbuffered: of thousands of files only the ends are read.
    with path.open("rb", buffering=0) as file:
        footer = read_footer(file)
    return path.read_bytes() if footer is None else footer


def _check(path: Path, columns: Mapping[str, Any], table: schema.Table) -> None:
    """Compare columns by name, type and order; the error names the first difference."""
    expected = table.polars
    for name, dtype in expected.items():
        if name not in columns:
            raise read_error(path, f"lacks the column `{name}`")
        if columns[name] != dtype:
            raise read_error(path, f"has `{name}` as {columns[name]} instead of {dtype}")
    for name in columns:
        if name not in expected:
            raise read_error(path, f"has a column `{name}` that the table `{table.name}` lacks")
    if list(columns) != list(expected):
        raise read_error(path, f"has the columns of the table `{table.name}` in another order")
