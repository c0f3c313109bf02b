"""Lines of a private key of which the file's beginning or end is missing, whatever precedes them.

Tools print a prefix before each line: names of files, times, numbers, quotes, marks of a diff.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from turnetl.redact import plausible
from turnetl.redact.normalised import escape_before
from turnetl.redact.rule import SecretRule

_LINE_BREAK = re.compile(rb"(?:\\+r)?\\+n|\r?\n")
_RUN = re.compile(rb"[A-Za-z0-9+/=]{16,}")
_MIN_LINE = 40
"""Characters of a line of a key that is not its last one."""
_MIN_LAST = 20
_MAX_GAP = 3
"""Lines without a part of the key, in a row: its headers, lines of other programs."""
_MAX_BYTES = 60_000
"""Bytes around a mark that are searched: prefixes may be longer than the lines of the key."""
_WIDTHS = (64, 70)
"""Characters of the lines of PEM and of OpenSSH. Data in base64 usually have 76."""
_MIN_LINES, _MAX_LINES = 3, 60
"""Lines of equal width that are a part of a key: of more, other data."""
_PUBLIC = re.compile(
    rb"(?:mQ[A-Z][A-Za-z0-9]B|m(?:DM|Dg|FI|FM|G8|HM|JM)E|iVBOR|JVBER|UEsDB|/9j/|R0lGOD|H4sI|AAAA[A-E]"
    rb"|iQ[A-Z][A-Za-z0-9]BA|i[HIJ][A-Za-z0-9]E|ws[BF][A-Za-z0-9]BA)"
)
"""Starts of public keys, signatures, pictures and archives. Two characters would also be the start
of one in a thousand lines of a key."""
_MARK = re.compile(rb"-----(?:BEGIN|END) ")
_MAX_LINE, _WINDOW_LINES = 400, 15
"""Bytes of a line with its prefix, and how many such lines are searched for labels."""
_ENDS_WITH_RUN = re.compile(rb"(?:[A-Za-z0-9]|[A-Za-z0-9+/][+/])\Z")
"""What precedes no start of a key: other base64. A single sign may be that of a diff."""
_WORD = re.compile(rb"[A-Za-z0-9]")
_PATH = re.compile(rb"/?[A-Za-z0-9]*(?:/[a-z][a-z0-9]{2,}){2,}")
_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_DER_LENGTHS = {0x82: 4, 0x81: 3}
"""Bytes of the head of a sequence, by how its length is written."""
_OTHER_DER = (b"\x30", b"\x31", b"\x06", b"\x0a", b"\xa0", b"\x02\x82", b"\x02\x81", b"\x02\x02")
"""First elements of certificates, signatures and public keys; in a private key, its version is."""


def lines_after(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a key in the lines from the end of a match on."""
    yield from _parts(data, _lines(data, match.end()))


def lines_from(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a key from the start of a match on, if this is the start of a key."""
    start = escape_before(data, match.start())
    is_within_run = _ENDS_WITH_RUN.search(data[max(0, start - 2) : start]) is not None
    if not is_within_run and _starts_key(match[0]):
        yield from _parts(data, _lines(data, match.start()))


def lines_before(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a key in the lines before a match."""
    first = max(0, match.start() - _MAX_BYTES)
    yield from _parts(data, reversed([*_lines(data, first, match.start())]))


def is_middle(data: bytes, end: int) -> bool:
    """Return whether the characters up to `end` are a line from the middle of a private key.

    It is one of a few lines of the same width, and no label says that they are something else.
    """
    last = data.find(b"\n", end, end + _MAX_LINE)
    line = data.rfind(b"\n", max(0, end - _MAX_LINE), end) + 1, len(data) if last < 0 else last
    width = _width(data, *line)
    if width not in _WIDTHS:
        return False
    window = _WINDOW_LINES * _MAX_LINE
    before = data[max(0, line[0] - window) : line[0]].splitlines()[::-1]
    after = data[line[1] : line[1] + window].splitlines()[1:]
    above, below = _equal_lines(before, width), _equal_lines(after, width)
    if (
        above is None
        or below is None
        or not _MIN_LINES <= len(above) + 1 + len(below) <= _MAX_LINES
    ):
        return False
    first = above[-1] if above else data[slice(*line)]
    run = max(_RUN.findall(first), key=len)
    return not _PUBLIC.match(run) and _starts_key(run)


def _equal_lines(lines: Iterable[bytes], width: int) -> list[bytes] | None:
    """Return the next lines with a run of this width; None if a label says what they are."""
    found: list[bytes] = []
    gap = 0
    for line in lines:
        mark = _MARK.search(line)
        if mark is not None:
            return found if b"PRIVATE" in line else None
        is_equal = _width(line, 0, len(line)) == width
        if is_equal:
            found.append(line)
        gap = 0 if is_equal else gap + 1
        if gap > _MAX_GAP or len(found) > _MAX_LINES:
            break
    return found


def _width(data: bytes, start: int, end: int) -> int:
    """Return the characters of the longest run in a line that is no path."""
    # The mark of a line of a diff is also a sign of base64.
    start += data[start : start + 1] == b"+"
    runs = (match[0] for match in _RUN.finditer(data, start, end))
    return max((len(run) for run in runs if not _PATH.match(run)), default=0)


def _lines(data: bytes, start: int, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line between two offsets."""
    end = min(len(data), start + _MAX_BYTES) if end is None else end
    for match in _LINE_BREAK.finditer(data, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _parts(data: bytes, lines: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    gap = 0
    for start, end in lines:
        mark = _MARK.search(data, start, end)
        parts = [*_parts_of_line(data, start, end if mark is None else mark.start())]
        yield from parts
        gap = 0 if parts else gap + (_WORD.search(data, start, end) is not None)
        if mark is not None or gap > _MAX_GAP:
            return


def _parts_of_line(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the runs in a line that may be of a key."""
    for match in _RUN.finditer(data, start, end):
        is_long = len(match[0]) >= _MIN_LINE
        if len(match[0]) < _MIN_LAST or _PATH.match(match[0]):
            continue
        if is_long or plausible.looks_random(match[0].decode()):
            yield match.span()


def _starts_key(text: bytes) -> bool:
    """Return whether base64 starts as a private key does."""
    head = text[: len(text) // 4 * 4][:120]
    try:
        decoded = base64.b64decode(head)
    except binascii.Error:
        return False
    if decoded.startswith(b"-----BEGIN "):
        return b"PRIVATE" in decoded
    length = _DER_LENGTHS.get(decoded[1])
    if not decoded.startswith(b"\x30") or length is None:
        return True
    return not decoded[length:].startswith(_OTHER_DER)


def _is_key_line(value: str) -> bool:
    return len(value) >= _MIN_LAST


KEY_LINE_RULES = (
    SecretRule(
        "private-key-head",
        rf"-----BEGIN {_LABEL}|Private-Lines:[ \t]*[0-9]{{1,4}}",
        "Lines of a key without its end.",
        _is_key_line,
        locate=lines_after,
    ),
    SecretRule(
        "private-key-tail",
        rf"-----END {_LABEL}|Private-MAC:",
        "Lines of a key without its beginning.",
        _is_key_line,
        locate=lines_before,
    ),
    SecretRule(
        "private-key-head",
        r"(?:MII[A-Za-z0-9+/]|MIG[A-Za-z0-9+/]|MHcCAQEE|MHgCAQEE|MC4CAQAw|MFECAQEw|MFMCAQEw"
        r"|MEECAQAw"
        r"|b3BlbnNzaC1rZXktdjE|LS0tLS1CRUdJTi|lIYE|xcaGB|xYYE)[A-Za-z0-9+/=]{30,}",
        "Lines of a key without the line that names it, or a whole file in base64.",
        _is_key_line,
        locate=lines_from,
    ),
    SecretRule(
        "private-key-head",
        r"lQ[A-Z]{1,2}YB[A-Za-z0-9+/=]{30,}",
        "The same of a key of PGP, apart: it has no literal, and the others have.",
        _is_key_line,
        locate=lines_from,
    ),
)
