"""Values below a header that announces a secret: in tables of Markdown, in CSV, and in SQL."""

import re
from collections.abc import Iterator

_SECRET = re.compile(
    rb"(?i)[^a-z]*(?:[a-z]+[ _-]){0,2}(?:password|passwd|passphrase|pwd?|pass|passwort|kennwort"
    rb"|mot de passe|mdp"
    rb"|contrase\S+|senha|wachtwoord|secret(?: access)?(?: key)?|api[ _-]?key|token)(?:[^a-z]"
    rb"|\\)*\Z"
)
_NAME = re.compile(rb"[ \t]*\\?\"?[A-Za-z][\w .-]*\\?\"?[ \t]*")
"""A name in a header of CSV: code has commas at the ends of lines."""
_RULER = re.compile(rb"[|+:\- \t]*-{2,}[|+:\- \t]*\Z")
_LINE = re.compile(rb"[^\r\n]*?(?:\r?\n|\\r\\n|\\n|\Z)")
_SEPARATORS = (b"|", b";", b"\t", b"\\t", b",")
_WORDS = re.compile(rb"[^ \t\r\n]+(?: [^ \t\r\n]+)*")
_MAX_ROWS = 500
_MAX_CELLS = 40
_MAX_BYTES = 1000
"""Bytes of a header."""


def cells(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the cells in the column of the header that the match is in.

    Args:
        data: one text; its lines may end with an escaped newline.
        match: the name in the header and its separator.
    """
    lines = _lines(data, _start_of_line(data, match.start()))
    _, header = next(lines, (0, b""))
    if len(header) > _MAX_BYTES:
        return
    separator = next((separator for separator in _SEPARATORS if separator in header), b"")
    if not separator:
        yield from _aligned(header, lines)
        return
    names = header.split(separator)
    columns = [index for index, name in enumerate(names) if _SECRET.match(name)]
    is_header = separator == b"|" or all(map(_NAME.fullmatch, names))
    if not columns or not is_header or not 1 < len(names) <= _MAX_CELLS:
        return
    for row, (row_start, line) in enumerate(lines):
        if _RULER.match(line):
            continue
        values = line.split(separator)
        is_other_header = any(map(_SECRET.match, values))
        has_no_ruler = separator == b"|" and row == 0
        if len(values) != len(names) or row > _MAX_ROWS or is_other_header or has_no_ruler:
            return
        yield from _values(line, row_start, columns, separator)


def _aligned(header: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, int]]:
    """Yield the words below a name in a header of capitals, or of names above a ruler."""
    names = [*_WORDS.finditer(header)]
    places = [name.start() for name in names if _SECRET.match(name[0])]
    if not places or len(names) == 1 or any(not _NAME.fullmatch(name[0]) for name in names):
        return
    for row, (start, line) in enumerate(lines):
        if _RULER.match(line):
            continue
        has_no_ruler = row == 0 and not header.isupper()
        words = {word.start(): word.end() for word in _WORDS.finditer(line)}
        if row > _MAX_ROWS or has_no_ruler or places[0] not in words:
            return
        yield from ((start + place, start + words[place]) for place in places if place in words)


def _values(
    line: bytes, start: int, columns: list[int], separator: bytes
) -> Iterator[tuple[int, int]]:
    for index, cell in enumerate(line.split(separator)):
        value = cell.strip(b" \t\r`*\"'\\")
        if index in columns and value:
            first = start + cell.index(value)
            yield first, first + len(value)
        start += len(cell) + len(separator)


def _start_of_line(data: bytes, position: int) -> int:
    """Return where the line with a position starts, after a newline, also one that is escaped."""
    first = max(0, position - _MAX_BYTES)
    before = data[first:position]
    return first + max(
        before.rfind(b"\n") + 1,
        before.rfind(b"\\n") + 2 if b"\\n" in before else 0,
        _after_quote(before),
    )


def _after_quote(before: bytes) -> int:
    """Return where a text in JSON starts that begins with a header."""
    match = _TEXT_IN_JSON.search(before)
    return match.end() if match is not None else 0


_TEXT_IN_JSON = re.compile(rb"(?:\A|[:,\[][ \t]?)\\*\"(?=[^\"]*\Z)")


def _lines(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines from `start` on, each with its offset."""
    while start < len(data):
        match = _LINE.match(data, start)
        if match is None:
            return
        yield (
            start,
            match[0].rstrip(b"\r\n")
            if match[0][-1:] == b"\n"
            else match[0].removesuffix(b"\\n").removesuffix(b"\\r"),
        )
        start = match.end()


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


def cells_of_json(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the strings in the columns that hold a secret, in rows after a list of names.

    Args:
        data: one text.
        match: a name and the list up to the first row.
    """
    start = data.rfind(b"[", max(0, match.start() - _MAX_BYTES), match.start()) + 1
    names = [name[1] for name in _JSON_VALUE.finditer(data, start, match.end())]
    columns = [index for index, name in enumerate(names) if name and _SECRET.match(name)]
    end = match.end()
    for _ in range(_MAX_ROWS if columns else 0):
        row = _JSON_ROW.match(data, end)
        if row is None:
            return
        values = [*_JSON_VALUE.finditer(data, row.start(1), row.end(1))]
        yield from (values[i].span(1) for i in columns if i < len(values) and values[i][1])
        end = row.end()


_JSON_VALUE = re.compile(
    rb"[ \t\r\n]*(?:\\*[\"']([^\"'\\\r\n]{0,200}+)\\*[\"']|[A-Za-z0-9.+-]{1,40}+)"
    rb"[ \t\r\n]*(?:,|\]|\Z)"
)
_JSON_ROW = re.compile(rb"[ \t\r\n,]{0,40}\[([^\[\]]{1,4000}+)\]")


def value_before(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the value before a name, in an object whose other fields may stand between them.

    Args:
        data: one text.
        match: starts in the name.
    """
    start = max(0, match.start() - _MAX_OBJECT)
    for found in _VALUE_BEFORE.finditer(data, start, match.start()):
        yield found.span(1)


_MAX_OBJECT = 300
_BETWEEN = rb"(?:[, \t\r\n]|\\+n){1,24}"
_VALUE_BEFORE = re.compile(
    rb"(?i)\b(?:value|text|content|input)\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']"
    rb"([^\"'\\\r\n]{3,128}+)\\*[\"']"
    + _BETWEEN
    + rb"(?:\\*[\"']?[a-z_]{1,20}\\*[\"']?[ \t]*[:=][ \t]*\\*[\"'][^\"'\\\r\n]{0,60}\\*[\"']"
    + _BETWEEN
    + rb"){0,3}\\*[\"']?(?:name|key|type|id|element|selector|locator|label|field|target"
    rb"|placeholder)"
    rb"\\*[\"']?[ \t]*[:=][ \t]*\\*[\"'][A-Za-z0-9_.#=\[ -]{0,30}\Z"
)
