"""Values below a header that announces a secret: in tables of Markdown, in CSV, and in SQL."""

import re
from collections.abc import Iterator

_SECRET = re.compile(
    rb"(?i)[^a-z]*(?:[a-z]+[ _-])?(?:password|passwd|passphrase|pwd|passwort|kennwort|mot de passe"
    rb"|contrase\S+|senha|wachtwoord|secret(?: access)?(?: key)?|api[ _-]?key|token)[^a-z]*\Z"
)
_NAME = re.compile(rb"\"?[A-Za-z][\w .-]*\"?")
"""A name in a header of CSV: code has commas at the ends of lines."""
_RULER = re.compile(rb"[|:\- \t]*-{2,}[|:\- \t]*\Z")
_MAX_ROWS = 500
_MAX_CELLS = 40
_MAX_BYTES = 1000
"""Bytes of a header."""


def cells(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the cells in the column of the header that the match is in.

    Args:
        data: one text.
        match: the name in the header and its separator.
    """
    start = data.rfind(b"\n", max(0, match.start() - _MAX_BYTES), match.start()) + 1
    lines = _lines(data, start)
    _, header = next(lines, (0, b""))
    if len(header) > _MAX_BYTES:
        return
    separator = b"|" if b"|" in header else b","
    names = header.split(separator)
    columns = [index for index, name in enumerate(names) if _SECRET.match(name)]
    is_header = separator == b"|" or all(map(_NAME.fullmatch, names))
    if not columns or not is_header or not 1 < len(names) <= _MAX_CELLS:
        return
    for row, (row_start, line) in enumerate(lines):
        values = line.split(separator)
        is_other_header = any(map(_SECRET.match, values))
        if len(values) != len(names) or row > _MAX_ROWS or is_other_header:
            return
        if separator == b"|" and row == 0:
            if not _RULER.match(line):
                return
            continue
        yield from _values(line, row_start, columns, separator)


def _values(
    line: bytes, start: int, columns: list[int], separator: bytes
) -> Iterator[tuple[int, int]]:
    for index, cell in enumerate(line.split(separator)):
        value = cell.strip(b" \t\r`*\"'")
        if index in columns and value:
            first = start + cell.index(value)
            yield first, first + len(value)
        start += len(cell) + len(separator)


def _lines(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines from `start` on, each with its offset."""
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield start, data[start:end].rstrip(b"\r")
        start = end + 1


def inserted_values(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the quoted values of the columns that hold a secret, in the rows of an `INSERT`.

    Args:
        data: one text.
        match: the names of the columns are its first group.
    """
    names = match[1].split(b",")
    columns = [index for index, name in enumerate(names) if _SECRET.match(name.strip(b' `"[]'))]
    end = match.end()
    for _ in range(_MAX_ROWS if columns else 0):
        row = _ROW.match(data, end)
        if row is None:
            return
        values = [*_SQL_VALUE.finditer(data, row.start(1), row.end(1))]
        if len(values) == len(names):
            yield from (values[index].span(1) for index in columns if values[index][1])
        end = row.end()


_SQL_VALUE = re.compile(rb"[ \t\r\n]*(?:[NEe]?'((?:[^'\\\r\n]|'')*+)'|[^,']++)(?:,|\Z)")
_ROW = re.compile(rb"[ \t\r\n,]{0,40}\(((?:[^()']|'(?:[^'\r\n]|'')*+'|\([^()]*+\)){0,500}+)\)")
