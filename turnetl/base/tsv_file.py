"""Tables separated by tabs that a user writes: every error names the file and the line."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from turnetl.base.errors import BadUsage


@dataclass(frozen=True, slots=True)
class TsvRow:
    line: int
    """In the file, from 1."""
    values: Mapping[str, str]
    """By column, without spaces around; empty if the row or the table lacks it."""


def read_tsv(
    path: Path, required: Sequence[str], optional: Sequence[str] = (), *, row_needs: str
) -> list[TsvRow]:
    """Return the rows of a table whose first line names its columns. Quotes are ordinary text.

    Each row needs a value in the required columns; `row_needs` says so as the end of a sentence.
    """
    with open_tsv(path, is_quoted=False) as reader:
        _check_columns(path, reader.fieldnames or (), required, row_needs)
        rows = [TsvRow(reader.line_num, _values(row, (*required, *optional))) for row in reader]
    for row in rows:
        if not all(row.values[name] for name in required):
            raise BadUsage(f"`{path}`, line {row.line}: a row needs {row_needs}")
    if not rows:
        raise BadUsage(f"`{path}` has no row below its first line: a row needs {row_needs}")
    return rows


@contextmanager
def open_tsv(path: Path, *, is_quoted: bool) -> "Iterator[csv.DictReader[str]]":
    """Open a table, of which cells may be quoted; one that a row lacks is empty."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield csv.DictReader(
                file,
                delimiter="\t",
                restval="",
                quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
            )
    except OSError as error:
        raise BadUsage(f"`{path}` cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadUsage(f"`{path}` is no table of UTF-8 text separated by tabs: {error}") from error


def _check_columns(
    path: Path, found: Sequence[str], required: Sequence[str], row_needs: str
) -> None:
    if not {*required} <= {*found}:
        names = " and ".join(f"`{name}`" for name in required)
        raise BadUsage(
            f"`{path}` has no columns {names}: write them, separated by tabs, into the first "
            f"line; a row needs {row_needs}"
        )


def _values(row: Mapping[str, str | None], columns: Sequence[str]) -> dict[str, str]:
    return {name: (row.get(name) or "").strip() for name in columns}
