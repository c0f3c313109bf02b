"""One Parquet file: written whole or not at all, and checked against its table both ways."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from turnetl import schema
from turnetl.errors import Stop

_VERSION = "turnetl.schema"
_SMALL = 1000
"""Rows."""
_LONG = (
    "user_text",
    "assistant_text",
    "subagents.list.element",
    "tools.list.element.input",
    "tools.list.element.outcome",
    "text",
    "parts.list.element",
)
"""The columns of text, by their names in Parquet."""


def write(
    path: Path, rows: pl.DataFrame | pa.Table, table: schema.Table, metadata: Mapping[str, str]
) -> None:
    """Write a table under a temporary name, sync it, rename it: whole or not at all.

    Raises:
        Stop: a column is missing, superfluous or of another type; or the disk does not take it.
    """
    if isinstance(rows, pl.DataFrame):
        _check(path, rows.schema, table)
        rows = rows.to_arrow()
    elif rows.schema != arrow_schema(table):
        _check(path, pl.Schema(pl.DataFrame(rows).schema), table)
    try:
        _replace(path, rows, {**metadata, _VERSION: str(table.version)})
    except OSError as error:
        why = error.strerror or str(error)
        raise Stop(
            f"`{path}` cannot be written ({why}); make room or name another lake."
        ) from error


def said_of(path: Path) -> dict[str, str]:
    """Return the metadata that `write` was given; reads no row.

    Raises:
        Stop: the file cannot be read.
    """
    try:
        said = pl.read_parquet_metadata(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _refusal(path, "cannot be read") from error
    return {key: text for key, text in said.items() if key not in (_VERSION, "ARROW:schema")}


def scan(paths: Iterable[Path], table: schema.Table) -> pl.LazyFrame:
    """Return the rows of the files, in the order given.

    Raises:
        Stop: a file cannot be read or has not the table's columns.
    """
    paths = list(paths)
    for path in paths:
        _check(path, _columns(path), table)
    if not paths:
        return pl.LazyFrame(schema=table.polars)
    return pl.scan_parquet(paths, schema=table.polars, glob=False)


@cache
def arrow_schema(table: schema.Table) -> pa.Schema:
    """Return the columns as pyarrow writes them."""
    return pl.DataFrame(schema=table.polars).to_arrow().schema


def _replace(path: Path, rows: pa.Table, metadata: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            _parquet(file, rows, metadata)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _parquet(file: IO[bytes], rows: pa.Table, metadata: Mapping[str, str]) -> None:
    # A dictionary and a compressor for every column of a table of five rows would cost more than
    # reading its archive did.
    small = rows.num_rows < _SMALL
    with pq.ParquetWriter(
        file,
        rows.schema,
        compression=dict.fromkeys(_LONG, "zstd") if small else "zstd",
        use_dictionary=not small,
        write_statistics=not small,
        store_schema=False,
    ) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(dict(metadata))


def _columns(path: Path) -> Mapping[str, pl.DataType]:
    try:
        return pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _refusal(path, "cannot be read") from error


def _check(path: Path, found: Mapping[str, Any], table: schema.Table) -> None:
    """Compare columns by name, type and order; say which one is wrong."""
    wanted = table.polars
    for name, dtype in wanted.items():
        if name not in found:
            raise _refusal(path, f"lacks the column `{name}`")
        if found[name] != dtype:
            raise _refusal(path, f"has `{name}` as {found[name]} instead of {dtype}")
    for name in found:
        if name not in wanted:
            raise _refusal(path, f"has a column `{name}` that `{table.name}` does not know")
    if list(found) != list(wanted):
        raise _refusal(path, f"has the columns of `{table.name}` in another order")


def _refusal(path: Path, what: str) -> Stop:
    return Stop(f"`{path}` {what}; delete it, and the next run makes it anew.")


def _sync_folder(folder: Path) -> None:
    """Make a rename last. Not every system can open a folder; there it lasts without."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
