"""One Parquet file, checked against its table on every access."""

import errno
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import polars as pl

from turnetl.base import schema
from turnetl.base.errors import Fatal, TableUnusable
from turnetl.base.object_url import discard_copy, shown_name
from turnetl.base.private_files import open_regular
from turnetl.lake.checksum import ChecksumError, copy_with_footer, read_footer
from turnetl.lake.checksum import verify as verify_file
from turnetl.lake.paths import TURNS
from turnetl.lake.versions import check_version, missing_columns

ReplaceFile = Callable[[Path, Callable[[IO[bytes]], object]], None]
METADATA_KEY = "turnetl"
"""The only metadata key of a file: the order of several keys would not be deterministic."""
READ_ERRORS = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading a damaged file raises. A panic of polars is no `Exception`."""


def read_metadata(path: Path) -> str:
    """Return the metadata of a file, or an empty text if turnetl did not write it. Reads no row."""
    with reading(path):
        return _metadata(_footer(path))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Read a file; raise `TableUnusable` if it cannot be read or is damaged."""
    try:
        yield
    except ChecksumError as error:
        discard_copy(path)
        raise read_error(path, "is damaged") from error
    except READ_ERRORS as error:
        raise read_error(path, "cannot be read") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write a file; raise `Fatal` if the operating system does not."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def verify(path: Path) -> None:
    with reading(path), open_regular(path) as file:
        verify_file(file)


def replace_metadata(path: Path, before: str, after: str, replace: ReplaceFile) -> None:
    """Replace the metadata of a file by one as long in bytes, atomically; its rows are verified.

    Other metadata than `before` raise `TableUnusable`, as a damaged file does.
    """
    old, new = before.encode(), after.encode()

    def changed(footer: bytes) -> bytes:
        if footer.count(old) != 1:
            raise ChecksumError
        return footer.replace(old, new)

    def write(target: IO[bytes]) -> None:
        with reading(path), open_regular(path) as source:
            copy_with_footer(source, target, changed)

    with writing(path):
        replace(path, write)


def scan(paths: Iterable[Path], table: schema.Table) -> pl.LazyFrame:
    """Return the rows of the files, in the order given, with all bytes and columns verified."""
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
    return _scan(sources, table)


def scan_snapshot(path: Path, table: schema.Table) -> pl.LazyFrame:
    """Return the rows of a file in its current version, however often they are read.

    A new file may replace it in the meantime, except on Windows while the rows are in use.
    """
    check_columns(path, table)
    with reading(path), path.open("rb") as file:
        # polars takes the path of the open file.
        return _scan(file, table)


def _scan(sources: list[Path] | IO[bytes], table: schema.Table) -> pl.LazyFrame:
    # `check_columns` allows only columns to be missing that files of an older version lack.
    missing: Literal["insert", "raise"] = "insert" if table.later_columns else "raise"
    return pl.scan_parquet(sources, schema=table.polars, glob=False, missing_columns=missing)


def check_columns(path: Path, table: schema.Table) -> None:
    """Raise `Fatal` unless the file has the table's schema version and columns. Reads no row."""
    with reading(path):
        footer = _footer(path)
        columns = pl.read_parquet_schema(footer)
        metadata = _metadata(footer)
    check_version(path, metadata, table)
    check_schema(path, columns, table, missing=missing_columns(metadata, table))


def read_error(path: Path, problem: str) -> TableUnusable:
    remedy = "`turnetl filter` creates it again from the turns."
    if path.parent.parent.name == TURNS:
        remedy = (
            "`turnetl backfill` of its archive creates it again. If the archive is gone, restore "
            "the file from a copy of the lake; turns that were committed stay in the graph. "
            "`turnetl verify` says which it is, and with --fix keeps the file under another name, "
            "so that the others can be used."
        )
    return TableUnusable(path, f"`{shown_name(path)}` {problem}; {remedy}")


def write_error(path: Path, error: OSError) -> Fatal:
    cause = error.strerror or str(error)
    return Fatal(
        f"`{shown_name(path)}` cannot be written ({cause}); {_remedy(error)} or name another lake."
    )


def _remedy(error: OSError) -> str:
    match error.errno:
        case errno.EISDIR | errno.ENOTDIR | errno.EEXIST | errno.ENOTEMPTY:
            return "something else has that name: move it away"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "make its folder writable"
        case _:
            return "free disk space"


def _metadata(footer: bytes) -> str:
    return pl.read_parquet_metadata(footer).get(METADATA_KEY, "")


def _footer(path: Path) -> bytes:
    """Return the footer of a file, or all bytes of one that turnetl did not write."""
    # Unbuffered: of thousands of files only the ends are read.
    with open_regular(path) as file:
        footer = read_footer(file)
    return path.read_bytes() if footer is None else footer


def check_schema(
    path: Path, columns: Mapping[str, Any], table: schema.Table, *, missing: Collection[str] = ()
) -> None:
    """Compare columns by name, type and order; the error names the first difference."""
    expected = {name: dtype for name, dtype in table.polars.items() if name not in missing}
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
