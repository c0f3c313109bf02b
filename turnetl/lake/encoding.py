"""Encoding of a table as the bytes of one Parquet file, with the file's metadata.

Almost every table is that of one archive: five rows of 36 columns. There the writer's work for each
column costs more than parsing the archive. Arrow's Rust writer (arro3) takes a third of the time of
its C++ writer (pyarrow); where no arro3 wheel exists, pyarrow writes. The C++ writer is imported
when it writes: with the file systems that it brings, that takes as long as to parse 2 MB.
"""

import io
from collections.abc import Callable, Iterable
from typing import IO, TypeAlias

import pyarrow as pa

from turnetl.lake.checksum import seal_file
from turnetl.lake.parquet import METADATA_KEY

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


def encode(rows: ArrowRows, metadata: str) -> memoryview:
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
    return file.getbuffer()


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
    """Write a file from tables that arrive one by one.

    The same tables and metadata give the same bytes.

    Args:
        tables: each becomes a row group.
        columns: the schema of all tables.
        metadata: called after all rows are written.
        file: the output, open for reading and writing. It receives the checksums too.
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
