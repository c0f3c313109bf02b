"""Write one Parquet file: atomically, and checked against its table.

Only what writes a table imports pyarrow, and with it numpy. Almost every table is that of one
archive: five rows of 36 columns, where the writer's work for each column costs more than parsing
the archive. Arrow's Rust writer (arro3) takes a third of the time of its C++ writer (pyarrow);
where no arro3 wheel exists, pyarrow writes. The C++ writer is imported when it writes: that takes
as long as to parse 2 MB.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, TypeAlias

import polars as pl
import pyarrow as pa

from turnetl.base import schema
from turnetl.lake.checksum import seal_file, sealed
from turnetl.lake.parquet import METADATA_KEY, ReplaceFile, check_schema, writing

try:
    from arro3.io import write_parquet
except ImportError:
    write_parquet = None  # type: ignore[assignment]  # Linux on ARM: see pyproject.toml

ArrowRows: TypeAlias = pa.Table | pa.RecordBatch
"""Rows of a table. The writer takes a tenth less time for those in one record batch."""
HAS_ARRO3 = write_parquet is not None
_SMALL = 1000
"""Rows. Dictionaries and zstd for every column do not pay for fewer rows."""
_LARGE = 32 << 20
"""Bytes of a table. The Rust writer makes five copies of a table, the C++ writer makes two."""
_GROUP = 16 << 20
"""Bytes of a row group of a large table: a partial read decompresses no more than that."""
UNIFORM_BYTES = min(_LARGE, _GROUP)
"""Bytes of a table below which its encoding does not depend on its bytes in memory."""


def encode_table(rows: ArrowRows, metadata: str) -> memoryview:
    """Return the file. The same rows and metadata give the same bytes."""
    if not HAS_ARRO3 or rows.get_total_buffer_size() > _LARGE:
        return encode_with_pyarrow(rows, metadata)
    return encode_with_arro3(rows, metadata)


def encode_with_arro3(rows: ArrowRows, metadata: str) -> memoryview:
    small = rows.num_rows < _SMALL
    file = io.BytesIO()
    write_parquet(
        rows,
        file,
        compression="lz4_raw" if small else "zstd(3)",
        dictionary_enabled=not small,
        skip_arrow_metadata=True,
        key_value_metadata={METADATA_KEY: metadata},
    )
    # Not `getbuffer`: Python 3.13 reports a file that is collected while its buffer is in use.
    return memoryview(file.getvalue())


def encode_with_pyarrow(rows: ArrowRows, metadata: str) -> memoryview:
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - see above

    small = rows.num_rows < _SMALL
    file = pa.BufferOutputStream()
    with ParquetWriter(
        file,
        rows.schema,
        compression="lz4" if small else "zstd",
        use_dictionary=not small,
        write_statistics=not small,
        store_schema=False,
    ) as writer:
        writer.write(rows, row_group_size=_rows_per_group(rows))
        writer.add_key_value_metadata({METADATA_KEY: metadata})
    return memoryview(file.getvalue())


def write_row_groups(
    tables: Iterable[pa.Table], columns: pa.Schema, metadata: Callable[[], str], file: IO[bytes]
) -> None:
    """Write a file, open for reading and writing, with a row group of each table that arrives.

    `metadata` is called at the end. The same tables and metadata give the same bytes.
    """
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - see above

    with ParquetWriter(
        file, columns, compression="zstd", use_dictionary=True, store_schema=False
    ) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
        writer.add_key_value_metadata({METADATA_KEY: metadata()})
    seal_file(file)


def _rows_per_group(rows: ArrowRows) -> int:
    groups: int = 1 + rows.get_total_buffer_size() // _GROUP
    height: int = rows.num_rows
    return max(1, -(-height // groups))


def write_table(
    path: Path,
    rows: pl.DataFrame | ArrowRows,
    table: schema.Table,
    metadata: str,
    replace: ReplaceFile,
) -> None:
    """Write a table atomically: to a temporary name, synced, then renamed.

    A power failure may undo the rename until `sync_folder` is called for the folder. Rows of
    another schema, and a file that cannot be written, raise `Fatal`.
    """
    data = encode_table(_checked(path, rows, table), metadata)
    with writing(path):
        replace(path, lambda file: file.writelines(sealed(data)))


def table_bytes(
    path: Path, rows: pl.DataFrame | ArrowRows, table: schema.Table, metadata: str
) -> bytes:
    """Return the file that `write_table` writes; it raises the same, and names the path."""
    return b"".join(sealed(encode_table(_checked(path, rows, table), metadata)))


def write_slices(
    path: Path,
    slices: Iterable[pl.DataFrame],
    table: schema.Table,
    metadata: Callable[[], str],
    replace: ReplaceFile,
) -> None:
    """Write a table from slices of its rows, as `write_table` does; at most two are in memory.

    The bytes also depend on the slice boundaries. `metadata` is called after the last slice.
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
    with writing(path):
        replace(path, lambda file: write_row_groups(tables, columns, metadata, file))


def _drain(rows: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the elements of the list and release each from memory."""
    while rows:
        yield rows.pop()


@cache
def arrow_schema(table: schema.Table) -> pa.Schema:
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
