"""Write one Parquet file: atomically, and checked against its table.

A run without changes writes no table. Only what writes one imports pyarrow, and with it numpy.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import IO

import polars as pl
import pyarrow as pa

from turnetl.base import schema
from turnetl.lake.checksum import sealed
from turnetl.lake.encoding import ArrowRows, encode, write_row_groups
from turnetl.lake.parquet import ReplaceFile, check_schema, write_error
from turnetl.lake.temporary import replace_file


def _replace_local(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    replace_file(path, write, None)


def write_table(
    path: Path,
    rows: pl.DataFrame | ArrowRows,
    table: schema.Table,
    metadata: str,
    replace: ReplaceFile = _replace_local,
) -> None:
    """Write a table atomically: to a temporary name, synced, then renamed.

    A power failure may undo the rename until `sync_folder` is called for the folder.

    Args:
        path: the file to write.
        rows: the table's columns in their order.
        table: the schema that the rows must have.
        metadata: the text to store in the file.
        replace: replaces a file atomically, as `LakeFiles.replace`.

    Raises:
        Fatal: a column is missing, unknown or of another type, or the file cannot be written.
    """
    data = encode(_checked(path, rows, table), metadata)
    _replace(path, lambda file: file.writelines(sealed(data)), replace)


def table_bytes(
    path: Path, rows: pl.DataFrame | ArrowRows, table: schema.Table, metadata: str
) -> bytes:
    """Return the file that `write_table` writes; it raises the same, and names the path."""
    return b"".join(sealed(encode(_checked(path, rows, table), metadata)))


def write_slices(
    path: Path,
    slices: Iterable[pl.DataFrame],
    table: schema.Table,
    metadata: Callable[[], str],
    replace: ReplaceFile = _replace_local,
) -> None:
    """Write a table from slices of its rows, as `write_table` does; at most two are in memory.

    Args:
        path: the file to write.
        slices: the table's rows in their order. The bytes also depend on the slice boundaries.
        table: the schema that the rows must have.
        metadata: the text to store in the file; called after the last slice.
        replace: as for `write_table`.

    Raises:
        Fatal: as for `write_table`.
    """
    remaining = iter(slices)
    first = list(islice(remaining, 1)) or [pl.DataFrame(schema=table.polars)]
    second = list(islice(remaining, 1))
    if not second:
        write_table(path, first[0], table, metadata(), replace)
        return
    all_slices = chain(_drain(first), _drain(second), remaining)
    tables = (_checked(path, rows, table) for rows in all_slices)
    columns = arrow_schema(table)
    _replace(path, lambda file: write_row_groups(tables, columns, metadata, file), replace)


def _drain(rows: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the elements of the list and release each from memory."""
    while rows:
        yield rows.pop()


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


def _checked(path: Path, rows: pl.DataFrame | ArrowRows, table: schema.Table) -> ArrowRows:
    if isinstance(rows, pl.DataFrame):
        check_schema(path, rows.schema, table)
        return rows.to_arrow().cast(arrow_schema(table))
    if rows.schema != arrow_schema(table):
        check_schema(path, pl.Schema(pl.DataFrame(rows).schema), table)
    return rows


def _replace(path: Path, write: Callable[[IO[bytes]], object], replace: ReplaceFile) -> None:
    try:
        replace(path, write)
    except OSError as error:
        raise write_error(path, error) from error
