"""What users write: tables separated by tabs, and regular expressions in Rust syntax.

Every error of a table names the file and the line. The time of a match is linear in the text and in
the pattern, whose expanded size is limited here.
"""

import csv
import re
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


MAX_CHARS = 1000
"""Maximum characters of a pattern."""
_SAFETY_FACTOR = 8
"""A pattern must fit this often into the engine's 10 MB: larger ones take minutes."""
_TOO_LARGE = (
    "is too large after its repetitions are expanded; repeat less often, or use narrower character"
    r" classes ([a-z0-9] instead of \w)"
)


def regex_error(pattern: str) -> str | None:
    """Return what is wrong with a pattern and how to correct it, or None if it is valid."""
    if not pattern:
        return "is empty; write what it must match"
    if len(pattern) > MAX_CHARS:
        return f"has more than {MAX_CHARS:,} characters; split it into several patterns"
    error = _compile_error(pattern)
    if error is None:
        # The line break ends a comment at the end of the pattern.
        repeated = _compile_error(f"(?:{pattern}\n){{{_SAFETY_FACTOR}}}")
        error = repeated if repeated == _TOO_LARGE else None
    if error is None or error == _TOO_LARGE:
        return error
    return f"does not compile: {error}; patterns use Rust syntax, without look-around"


def _compile_error(pattern: str) -> str | None:
    import polars as pl  # noqa: PLC0415 - settings without patterns need it not

    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        message = str(error)
        if "size limit" in message:
            return _TOO_LARGE
        reason = re.search(r"^error: (.+)$", message, re.MULTILINE)
        return reason[1].strip() if reason else message.splitlines()[0]
    return None
