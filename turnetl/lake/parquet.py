"""One Parquet file: written whole or not at all, and checked against its table both ways."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa

from turnetl import schema
from turnetl.errors import Fatal
from turnetl.lake.encoding import KEY, encode, write_row_groups

_UNFINISHED = ".tmp"
_HOUR = 3600.0


def write_table(path: Path, rows: pl.DataFrame | pa.Table, table: schema.Table, said: str) -> None:
    """Write a table under a temporary name, sync it, rename it: whole or not at all.

    Until `sync_folder` is called for its folder, a power cut may take the new name back.

    Args:
        path: where to.
        rows: the table's columns in their order.
        table: what they must be.
        said: what the file shall say of itself.

    Raises:
        Stop: a column is missing, superfluous or of another type; or the disk does not take it.
    """
    data = encode(_checked(path, rows, table), said)
    _replace(path, lambda file: file.write(data))


def write_slices_as_row_groups(
    path: Path, slices: Iterable[pl.DataFrame], table: schema.Table, said: Callable[[], str]
) -> None:
    """Write a table whose rows come in slices, as `write_table` does; no more than two are held.

    Args:
        path: where to.
        slices: the table's rows in their order; the bytes hang on where they are parted, too.
        table: what their columns must be.
        said: what the file shall say of itself; asked when all rows are known.

    Raises:
        Stop: as of `write_table`.
    """
    left = iter(slices)
    first = list(islice(left, 1)) or [pl.DataFrame(schema=table.polars)]
    second = list(islice(left, 1))
    if not second:
        write_table(path, first[0], table, said())
        return
    all_ = chain(_emptied(first), _emptied(second), left)
    tables = (_checked(path, rows, table) for rows in all_)
    _replace(path, lambda file: write_row_groups(tables, arrow_schema(table), said, file))


def _emptied(rows: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield what is in the list, and keep it no longer."""
    while rows:
        yield rows.pop()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last, and sweep out what runs left that were killed in mid-write.

    Not every system can open a folder; there names last without.
    """
    with suppress(OSError):
        _sweep(folder)
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_metadata(path: Path) -> str:
    """Return what the file says of itself, or nothing if it is not ours; reads no row.

    Raises:
        Stop: the file cannot be read.
    """
    try:
        return pl.read_parquet_metadata(path).get(KEY, "")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise read_error(path, "cannot be read") from error


def scan(paths: Iterable[Path], table: schema.Table) -> pl.LazyFrame:
    """Return the rows of the files, in the order given.

    Raises:
        Stop: a file cannot be read or has not the table's columns.
    """
    paths = list(paths)
    for path in paths:
        check_columns(path, table)
    if not paths:
        return pl.LazyFrame(schema=table.polars)
    return pl.scan_parquet(paths, schema=table.polars, glob=False)


def scan_snapshot(path: Path, table: schema.Table) -> pl.LazyFrame:
    """Return the rows of a file as it is now, however often they are read.

    Also while a new file takes its name; but on Windows none can, as long as the rows are in use.

    Raises:
        Stop: as of `scan`.
    """
    check_columns(path, table)
    try:
        with path.open("rb") as file:
            return pl.scan_parquet(file, schema=table.polars)
    except OSError as error:
        raise read_error(path, "cannot be read") from error


def check_columns(path: Path, table: schema.Table) -> None:
    """Raise `Fatal` if the file cannot be read or has not the table's columns. Reads no row."""
    _check(path, _columns(path), table)


def read_error(path: Path, what: str) -> Fatal:
    """Return the error for a file that is not as it must be."""
    return Fatal(f"`{path}` {what}; delete it, and the next run makes it anew.")


def write_error(path: Path, error: OSError) -> Fatal:
    """Return the error for what the disk does not take."""
    why = error.strerror or str(error)
    return Fatal(f"`{path}` cannot be written ({why}); make room or name another lake.")


@cache
def arrow_schema(table: schema.Table) -> pa.Schema:
    """Return the columns as they are written."""
    columns = pl.DataFrame(schema=table.polars).to_arrow().schema
    return pa.schema([pa.field(column.name, _named(column.type)) for column in columns])


def _named(kind: pa.DataType) -> pa.DataType:
    """Return a type with the things in its lists named as Parquet wants it."""
    if pa.types.is_large_list(kind):
        return pa.large_list(pa.field("element", _named(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _named(field.type)) for field in kind])
    return kind


def _checked(path: Path, rows: pl.DataFrame | pa.Table, table: schema.Table) -> pa.Table:
    if isinstance(rows, pl.DataFrame):
        _check(path, rows.schema, table)
        return rows.to_arrow().cast(arrow_schema(table))
    if rows.schema != arrow_schema(table):
        _check(path, pl.Schema(pl.DataFrame(rows).schema), table)
    return rows


def _replace(path: Path, put: Callable[[IO[bytes]], object]) -> None:
    # Of two machines on one disk both may have a process of this number.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{_UNFINISHED}")
    try:
        with _opened(temporary) as file:
            put(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        _forget(temporary)
        raise write_error(path, error) from error
    except BaseException:
        _forget(temporary)
        raise


def _forget(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def _opened(temporary: Path) -> IO[bytes]:
    try:
        return temporary.open("wb")
    except FileNotFoundError:
        temporary.parent.mkdir(parents=True, exist_ok=True)
        return temporary.open("wb")


def _sweep(folder: Path) -> None:
    """Remove unfinished files and folders that are an hour older than the newest file beside them.

    The disk's own times are compared: it may be a network's, with a clock of its own.
    """
    names = os.listdir(folder)  # noqa: PTH208  ten thousand names, no paths
    unfinished = [folder / name for name in names if name.endswith(_UNFINISHED)]
    if unfinished:
        newest = max((folder / name).stat().st_mtime for name in names)
        for path in unfinished:
            if path.stat().st_mtime < newest - _HOUR:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _columns(path: Path) -> Mapping[str, pl.DataType]:
    try:
        return pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise read_error(path, "cannot be read") from error


def _check(path: Path, found: Mapping[str, Any], table: schema.Table) -> None:
    """Compare columns by name, type and order; say which one is wrong."""
    wanted = table.polars
    for name, dtype in wanted.items():
        if name not in found:
            raise read_error(path, f"lacks the column `{name}`")
        if found[name] != dtype:
            raise read_error(path, f"has `{name}` as {found[name]} instead of {dtype}")
    for name in found:
        if name not in wanted:
            raise read_error(path, f"has a column `{name}` that `{table.name}` does not know")
    if list(found) != list(wanted):
        raise read_error(path, f"has the columns of `{table.name}` in another order")
