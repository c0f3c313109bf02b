"""Rules for secrets in rows beside a name, in columns below a header, in CSV, SQL, JSON and markup.

Columns are separated by bars, box-drawing characters, tabulators or spaces, also in JSON strings.
"""

import re
from collections.abc import Iterator
from functools import partial

from turnetl.redact import chosen
from turnetl.redact.chosen import line_rule, quoted_rule
from turnetl.redact.rule import SecretRule, late_pattern, value_rule
from turnetl.redact.vocabulary import FOREIGN_PASSWORD, PASSWORD

_LONG_NAME = (
    rf"(?:{PASSWORD}s?|secret(?:[ _-]access)?(?:[ _-]key)?|api[ _-]?key|token|{FOREIGN_PASSWORD})"
)
_SHORT_NAME = r"(?:pass|pwd?|mdp|psk)"
_SUFFIX = r"(?:[ _-]?(?:value|plain(?:text)?|text|clear|new|old|prod|dev|test|staging|[0-9]))?"
_SECRET = late_pattern(
    rf"(?i)(?:.*[^a-z])?(?:[a-z]{{0,30}}{_LONG_NAME}"
    rf"|(?:(?:user|db|root|admin|smtp|mail|ftp|my)(?:[ _.-])?)?{_SHORT_NAME})"
    rf"{_SUFFIX}(?:[ \t]*\([^()]*\))?(?:[^a-z]|\\)*\Z".encode()
)
"""A name in a header: `secret_name` and `password needed` are names of other columns."""
_COLUMN_NAME = late_pattern(rb"[ \t]*\\?[\"']?(?:[A-Za-z][\w .()/-]*)?\\?[\"']?[ \t]*")
"""A name in a header of CSV: code has commas at the ends of lines."""
_RULE_SIGNS = rb"(?:--|==|\xe2\x94[\x80\x81]|\xe2\x95\x90)"
_RULER = late_pattern(
    rb"(?=.*" + _RULE_SIGNS + rb")(?:[|+:*=~\- \t]|\xe2[\x94\x95][\x80-\xbf])+\Z", re.DOTALL
)
"""A line between header and rows, also one of box-drawing characters."""
_TABLE_LINE = late_pattern(rb"[^\r\n]*?(?:\r?\n|\\+r\\+n|\\+n|\Z)")
_END_OF_LINE = late_pattern(rb"(?:\r?\n|(?:\\+r)?\\+n)\Z")
_BARS = ("│".encode(), "║".encode(), "┃".encode(), b"||", b"|")
_SEPARATORS = (*_BARS, b" & ", b";", b"\t", b"\\t", b",")
_WORDS = late_pattern(rb"[^ \t\r\n]+(?: [^ \t\r\n]+)*")
_MAX_ROWS = 500
_MAX_CELLS = 40
_MAX_NAME = 80
_MAX_BYTES = 1000
"""Bytes of a header."""


def cells(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the cells in the column of the header that the match is in."""
    for start in _starts_of_header(data, match.start()):
        found = [*_cells(data, start)]
        if found:
            yield from found
            return


def _cells(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    lines = _lines(data, start)
    _, header = next(lines, (0, b""))
    if len(header) > _MAX_BYTES:
        return
    separator = next((separator for separator in _SEPARATORS if separator in header), b"")
    if not separator:
        yield from _aligned(header, lines)
        return
    names = header.split(separator)
    columns = [index for index, name in enumerate(names) if _is_secret(name)]
    is_header = separator in _BARS or all(map(_COLUMN_NAME.fullmatch, names))
    if not columns or not is_header or not 1 < len(names) <= _MAX_CELLS:
        return
    needs_ruler = separator == b"|" and not (_is_closed(header) or _is_plain(names))
    for row, (row_start, line) in enumerate(lines):
        if _RULER.match(line):
            continue
        separator = (
            next(filter(line.__contains__, _BARS[:3]), b"|") if separator in _BARS else separator
        )
        values = line.split(separator)
        is_other_header = any(map(_is_secret, values))
        has_no_ruler = needs_ruler and row == 0
        if len(values) != len(names) or row > _MAX_ROWS or is_other_header or has_no_ruler:
            return
        yield from _values(line, row_start, columns, separator)


def _is_secret(name: bytes) -> bool:
    return len(name) <= _MAX_NAME and _SECRET.match(name) is not None


def _is_closed(header: bytes) -> bool:
    """Return whether bars enclose a header: it needs no ruler, which pipes of commands lack."""
    return header.lstrip(b' \t>"').startswith(b"|") and header.rstrip().endswith(b"|")


def _is_plain(names: list[bytes]) -> bool:
    """Return whether names stand between bars without spaces, as `psql -A` prints them."""
    return all(
        name and not name.startswith(b" ") and _COLUMN_NAME.fullmatch(name) for name in names
    )


def _aligned(header: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, int]]:
    """Yield the words below a name in a header of capitals, of titles, or above a ruler.

    A row with as many words as the header has them in the same order, also if they are longer.
    """
    names = [*_WORDS.finditer(header)]
    indexes = [index for index, name in enumerate(names) if _is_secret(name[0])]
    if len(names) == 1 and _USUAL_NAMES.fullmatch(header):
        yield from _single_spaced(header.split(), lines)
        return
    if not indexes or any(not _COLUMN_NAME.fullmatch(name[0]) for name in names):
        return
    is_title = all(name[0][:1].isupper() for name in names)
    for row, (start, line) in enumerate(lines):
        if _RULER.match(line):
            continue
        words = [*_WORDS.finditer(line)]
        may_lack_ruler = len(names) > 1 and (header.isupper() or (is_title and len(words) > 1))
        has_no_ruler = row == 0 and not may_lack_ruler
        found = [*_below(names, indexes, words)]
        if row > _MAX_ROWS or has_no_ruler or not found:
            return
        yield from ((start + first, start + end) for first, end in found)


def _single_spaced(
    names: list[bytes], lines: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[int, int]]:
    """Yield the words below names that single spaces separate, in rows of as many words."""
    columns = [index for index, name in enumerate(names) if _is_secret(name)]
    for row, (start, line) in enumerate(lines):
        words = [*re.finditer(rb"[^ \t]+", line)]
        if len(words) != len(names) or row > _MAX_ROWS:
            return
        yield from ((start + words[i].start(), start + words[i].end()) for i in columns)


_USUAL_NAMES = late_pattern(
    rb"(?i)[ \t>#]*(?:(?:id|user(?:name|id)?|login|name|e-?mail|host(?:name)?|ip|port|account"
    rb"|role|service|server|url"
    rb"|benutzer)[ \t]){1,5}(?:password|passwd|passwort|kennwort|pass|pwd?|secret)[ \t]*"
)


def _below(
    names: list[re.Match[bytes]], indexes: list[int], words: list[re.Match[bytes]]
) -> Iterator[tuple[int, int]]:
    """Yield the words of a row below some names, by their place or by their number."""
    starts = {word.start(): word.span() for word in words}
    for index in indexes:
        if names[index].start() in starts:
            yield starts[names[index].start()]
        elif len(words) == len(names):
            yield words[index].span()


def _values(
    line: bytes, start: int, columns: list[int], separator: bytes
) -> Iterator[tuple[int, int]]:
    for index, cell in enumerate(line.split(separator)):
        value = cell.strip(b" \t\r`*\"'\\")
        if index in columns and value:
            first = start + cell.index(value)
            yield first, first + len(value)
        start += len(cell) + len(separator)


def _starts_of_header(data: bytes, position: int) -> Iterator[int]:
    """Yield where the header with a position may start: its line, or a text in JSON on it."""
    first = max(0, position - _MAX_BYTES)
    before = data[first:position]
    line = max(before.rfind(b"\n") + 1, before.rfind(b"\\n") + 2 if b"\\n" in before else 0)
    yield first + line
    match = _TEXT_IN_JSON.search(before, line)
    if match is not None and match.end() > line:
        yield first + match.end()


_TEXT_IN_JSON = late_pattern(rb"(?:\A|[:,\[][ \t]?)\\*\"(?=[^\"]*\Z)")


def _lines(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    while start < len(data):
        match = _TABLE_LINE.match(data, start)
        if match is None:
            return
        yield start, _END_OF_LINE.sub(b"", match[0])
        start = match.end()


def row_cells(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the first cell beside a name, the first group, and others that can be nothing else."""
    yield match.span(1)
    for cell in _MORE_CELLS.finditer(data, match.end(1), match.end(1) + _MAX_BYTES):
        if cell[0][:1] in b"\r\n":
            return
        if cell[1] and chosen.is_told(cell[1].decode("utf-8", "replace")):
            yield cell.span(1)


_MORE_CELLS = late_pattern(
    rb"[\r\n]|(?:[|]|\xe2\x94[\x82\x83]|\xe2\x95\x91)[ \t`*\"]*+([^|\s`*\"]{4,128}+)"
)


def inserted_values(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the values of secret columns in the rows of an `INSERT`; group 1 names the columns."""
    names = match[1].split(b",")
    columns = [index for index, name in enumerate(names) if _is_secret(name.strip(b' `"[]'))]
    for values in _rows(data, match.end(), _ROW, _SQL_VALUE) if columns else ():
        if len(values) == len(names):
            yield from (values[index].span(1) for index in columns if values[index][1])


def _rows(
    data: bytes, end: int, row_pattern: re.Pattern[bytes], value: re.Pattern[bytes]
) -> Iterator[list[re.Match[bytes]]]:
    for _ in range(_MAX_ROWS):
        row = row_pattern.match(data, end)
        if row is None:
            return
        yield [*value.finditer(data, *row.span(1))]
        end = row.end()


_SQL_VALUE = late_pattern(rb"[ \t\r\n]*(?:[NEe]?'((?:[^'\\\r\n]|'')*+)'|[^,']++)(?:,|\Z)")
_ROW = late_pattern(rb"[ \t\r\n,]{0,40}\(((?:[^()']|'(?:[^'\r\n]|'')*+'|\([^()]*+\)){0,500}+)\)")


def cells_of_json(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the strings in the columns that hold a secret, in rows after a list of names."""
    start = data.rfind(b"[", max(0, match.start() - _MAX_BYTES), match.start()) + 1
    names = [name[1] for name in _JSON_VALUE.finditer(data, start, match.end())]
    columns = [index for index, name in enumerate(names) if name and _is_secret(name)]
    for values in _rows(data, match.end(), _JSON_ROW, _JSON_VALUE) if columns else ():
        yield from (values[i].span(1) for i in columns if i < len(values) and values[i][1])


_JSON_VALUE = late_pattern(
    rb"[ \t\r\n]*(?:\\*[\"']([^\"'\\\r\n]{0,200}+)\\*[\"']|[A-Za-z0-9.+-]{1,40}+)"
    rb"[ \t\r\n]*(?:,|\]|\Z)"
)
_JSON_ROW = late_pattern(rb"[ \t\r\n,]{0,40}\[([^\[\]]{1,4000}+)\]")


def value_before(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the value before a name, in an object whose other fields may stand between them."""
    start = max(0, match.start() - _MAX_OBJECT)
    for found in _VALUE_BEFORE.finditer(data, start, match.start()):
        yield found.span(found.lastindex or 0)


_MAX_OBJECT = 300
_BETWEEN = rb"(?:[, \t\r\n]|\\+n){1,24}"
_VALUE_BEFORE = late_pattern(
    rb"(?i)\b(?:default_?|string|parameter)?(?:value|text|content|input|stdin|fill"
    rb"|answer)\\*[\"']?[ \t]*[:=][ \t]*(?:\\*[\"']([^\"'\\\r\n]{3,128}+)\\*[\"']"
    rb"|([^ \t\r\n\"'\\,{}\[\]()#$&*!|>][^ \t\r\n\"'\\,]{2,127}+))"
    + _BETWEEN
    + rb"(?:\\*[\"']?[a-z_]{1,20}\\*[\"']?[ \t]*[:=][ \t]*\\*[\"'][^\"'\\\r\n]{0,60}\\*[\"']"
    + _BETWEEN
    + rb"){0,3}\\*[\"']?(?:name|key|type|id|element|selector|locator|label|field|target"
    rb"|placeholder|into|prompt|title|description)"
    rb"\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?[A-Za-z0-9_.#=\[ -]{0,30}\Z"
)


def cells_of_markup(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the cells in the columns of HTML that hold a secret; a cell of the header matches."""
    first = max(0, match.start() - _MAX_BYTES)
    start = data.rfind(b"<tr", first, match.start())
    if start < 0:
        # The table is cut.
        start = data.find(b"<th", first, match.end())
    header = _MARKUP_HEADER.match(data, start) if start >= 0 else None
    if header is None:
        return
    names = _MARKUP_CELL.finditer(data, *header.span())
    columns = [index for index, name in enumerate(names) if _is_secret(name[1])]
    end = min(len(data), start + _MAX_MARKUP)
    for row in _MARKUP_ROW.finditer(data, header.end(), end):
        found = [*_MARKUP_CELL.finditer(data, *row.span())]
        if not found or row[0].startswith(b"</table"):
            return
        yield from (found[index].span(1) for index in columns if index < len(found))


_MAX_MARKUP = 20_000
"""Bytes of a table in HTML."""
_MARKUP_HEADER = late_pattern(rb"(?i)<t[rh]\b(?:(?!<tr\b|</t(?:r|able)).){0,4000}+", re.DOTALL)
_MARKUP_ROW = late_pattern(rb"(?i)<tr\b(?:(?!<tr\b|</t(?:r|able)).){0,4000}+|</table", re.DOTALL)
_MARKUP_CELL = late_pattern(
    rb"(?i)<t[hd]\b[^<>]{0,200}+>(?:[ \t\r\n]|\\+[nt]|<[a-z]{1,8}(?:[ \t][^<>]{0,80})?>){0,8}+"
    rb"([^<>]{0,200}?)(?:[ \t\r\n]|\\+[nt])*+(?=<|\Z)"
)


_BAR = r"(?:[|]|│|║|┃)"
_EMPHASIS = r"[`*\" \t]{0,20}"
_FOREIGN = (
    r"(?:passwort|kennwort|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha|hasło|пароль|Пароль"
    r"|parola|lösenord|heslo|密码|パスワード|비밀번호)"
)
_NAME = rf"(?:{PASSWORD}|{_FOREIGN}|[_.-]pass|[_.-]pwd?|pwd)"
_PURPOSE = r"(?:[ \t]*\([A-Za-z][^()\r\n|]{1,24}\)|[ _-](?:value|prod|dev|test|staging))?"
_CELL = r"([^|\r\n\t]{3,128}?)"
_NOT_RULER = r"(?:[\r\n]+(?![ \t]*(?:[|+]?[ \t]*[:+-]?-{2}))|$)"
_LINE = r"(?:\A|[\r\n]|\\n|[:,\[][ \t]?\\*\")[ \t>+-]{0,24}"
_HEADER_END = (
    rf"{_PURPOSE}(?:[`*\"'\\ \t]{{0,8}}(?:(?:[,;\t]|[ ]&[ ]|{_BAR}|\\+t)[^\r\n]{{0,300}})?"
    rf"|[ \t]{{2,}}[^\r\n]{{0,200}})(?:\r?\n|\\+n)"
    rf"[^\r\n]{{0,400}}?(?:[,;\t]|{_BAR}|--|──|══|━━|  |\\t)"
)
_END_OF_NAMES = (
    r"\\*[\"'](?:[ \t\r\n]*,[ \t\r\n]*\\*[\"'][^\"'\\\r\n]{0,40}\\*[\"']){0,20}"
    r"[ \t\r\n]*\][ \t\r\n]*,"
    r"[ \t\r\n]*(?:\\*[\"']?[a-zA-Z_]{1,20}\\*[\"']?[ \t]*:[ \t\r\n]*\[)?[ \t\r\n]*(?=\[)"
)
_cell_rule = partial(SecretRule, "password", plausible=chosen.is_cell)
TABLE_RULES = (
    _cell_rule(
        rf"(?i)(?:{_NAME}{_PURPOSE}{_EMPHASIS}|pass[`*\" \t]{{1,20}}){_BAR}{_EMPHASIS}{_CELL}"
        rf"{_EMPHASIS}{_BAR}[^\r\n]{{0,400}}{_NOT_RULER}",
        "A password in the row of a table.",
        locate=row_cells,
        before=r"(?<![Bb]y)(?<![Cc]om)(?<![Tt]res)(?<![Ss]ur)(?<![Oo]ver)(?<![Uu]nder)",
    ),
    _cell_rule(
        rf"(?i)(?:{_NAME}{_PURPOSE}|pass)[`*\"]{{0,3}}"
        rf"(?:[ \t]{{0,40}}(?:{_BAR}|[ \t]{{2}}|\t|\\+t|[ \t]-[ \t]|\.{{2,40}}:?|>{{2,3}}"
        rf"|:{{2}})[`*\" \t]{{0,40}}(?:REG_SZ[ \t]+)?)"
        rf"([^|\r\n\t\\ ]{{3,128}})[`*\" \t]{{0,20}}(?:{_NOT_RULER}|\\+[nrt]|\t|\"[ \t]*[,}}])",
        "A name and a value in a line, in columns.",
        before=rf"{_LINE}(?:{_BAR}[ \t]*)?[A-Za-z0-9_.-]{{0,30}}(?: [A-Za-z0-9_.-]{{1,20}})?",
    ),
    _cell_rule(
        rf"(?i)(?:{PASSWORD}|pass|pwd?|mdp|secret(?=[ _-]value)|{_FOREIGN}){_HEADER_END}",
        "A password in the column of a table.",
        locate=cells,
    ),
    quoted_rule(
        rf"(?i)(?:{PASSWORD}|pwd|passwort|senha|api_?key|token|secret){_END_OF_NAMES}",
        "A password or a secret in a column of rows in JSON.",
        locate=cells_of_json,
    ),
    _cell_rule(
        rf"(?i)<th[^<>]{{0,80}}>[ \t\r\n]*(?:<[a-z]{{1,8}}>)?[^<>]{{0,30}}?"
        rf"(?:{PASSWORD}|\bpass|\bpwd?|{_FOREIGN}|secret|token|key)[^<>]{{0,20}}<",
        "A password in the column of a table of HTML.",
        locate=cells_of_markup,
    ),
    quoted_rule(
        r"(?i)insert into[ \t\r\n]+[^ \t\r\n(]{1,80}[ \t\r\n]*"
        r"\(([^()\r\n]{1,300})\)[ \t\r\n]*values",
        "A password in a new row of a database.",
        locate=inserted_values,
    ),
    value_rule(
        rf"(?i)(?:secret(?:[ _-]access)?(?:[ _-]key)?|api[ _-]?key|token){_HEADER_END}",
        "A secret in the column of a table.",
        chosen.is_drawn_cell,
        locate=cells,
    ),
    line_rule(
        rf"(?i){PASSWORD}:[ \t]+([^|\r\n]{{3,128}}?)[ \t]*\|",
        "A password in the cell of a table, with its name.",
    ),
    _cell_rule(
        r"(?i)(?:user(?:name)?|login|e-?mail|host|role)[ \t](?:password|passwd|pwd?|pass)[ \t]*"
        r"(?:\r?\n|\\n)[ \t]*[^ \t\r\n]{1,80}[ \t]+[^ \t\r\n]",
        "A password in the last of the columns that single spaces separate.",
        locate=cells,
    ),
)
