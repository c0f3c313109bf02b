"""A table as the bytes of one Parquet file, with what the file says of itself.

Almost every table is that of one archive: five rows of 36 columns, where what a writer does for
each column costs more than reading the archive did. Arrow's Rust writer takes a third of the time
that its C++ writer takes for it; where there is no wheel of the first, the second writes.
"""

import io
from collections.abc import Callable, Iterable
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

try:
    from arro3.io import write_parquet
except ImportError:
    write_parquet = None  # type: ignore[assignment]  # Linux on ARM: see pyproject.toml

HAS_ARRO3 = write_parquet is not None
KEY = "turnetl"
"""The one key under which a file says something: of several the order would be left to chance."""
_SMALL = 1000
"""Rows. A dictionary and zstd for every column of less than that would not pay."""
_LARGE = 32 << 20
"""Bytes of a table for which the Rust writer's five copies are too many; the other makes two."""
_GROUP = 16 << 20
"""Bytes of the row groups of such a table: what reads a part of it needs to unpack no more."""


def encode(rows: pa.Table, said: str) -> memoryview:
    """Return the file: the same bytes for the same rows and text."""
    if not HAS_ARRO3 or rows.get_total_buffer_size() > _LARGE:
        return encode_with_pyarrow(rows, said)
    return encode_with_arro3(rows, said)


def encode_with_arro3(rows: pa.Table, said: str) -> memoryview:
    small = rows.num_rows < _SMALL
    file = io.BytesIO()
    write_parquet(
        rows,
        file,
        compression="lz4_raw" if small else "zstd(3)",
        dictionary_enabled=not small,
        skip_arrow_metadata=True,
        key_value_metadata={KEY: said},
    )
    return file.getbuffer()


def encode_with_pyarrow(rows: pa.Table, said: str) -> memoryview:
    small = rows.num_rows < _SMALL
    file = pa.BufferOutputStream()
    with pq.ParquetWriter(
        file,
        rows.schema,
        compression="lz4" if small else "zstd",
        use_dictionary=not small,
        write_statistics=not small,
        store_schema=False,
    ) as writer:
        writer.write_table(rows, row_group_size=_rows_of_a_group(rows))
        writer.add_key_value_metadata({KEY: said})
    return memoryview(file.getvalue())


def write_row_groups(
    rows: Iterable[pa.Table], columns: pa.Schema, said: Callable[[], str], file: IO[bytes]
) -> None:
    """Write a file whose rows come in groups: the same bytes for the same groups and text.

    Args:
        rows: each becomes a row group.
        columns: what all of them have.
        said: what the file shall say of itself; asked when all rows are written.
        file: where to.
    """
    with pq.ParquetWriter(
        file, columns, compression="zstd", use_dictionary=True, store_schema=False
    ) as writer:
        for group in rows:
            writer.write_table(group, row_group_size=max(1, group.num_rows))
        writer.add_key_value_metadata({KEY: said()})


def _rows_of_a_group(rows: pa.Table) -> int:
    groups: int = 1 + rows.get_total_buffer_size() // _GROUP
    count: int = rows.num_rows
    return max(1, -(-count // groups))
