"""A text as its reader sees it: without colours and zero-width characters, with escapes decoded.

Lines that a backslash or quoted-printable continues are joined. Secrets are searched in these views
and cut in the original, so a view keeps the place of each of its bytes.
"""

import html
import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from turnetl.redact.rule import late_pattern
from turnetl.redact.spans import Span

_MAX_LAYERS = 5
"""Layers of different encodings; the same one several times counts once."""
_HEX = {b"hex": rb"[0-9a-fA-F]"}
_SLASHES = rb"\\{0,31}+"
_CODE = (
    rb"(?:u%(hex)s{4}|u\{%(hex)s{1,6}\}|U%(hex)s{8}|x%(hex)s{2}|x\{%(hex)s{1,6}\}|0000%(hex)s{2})"
    % _HEX
)
_FORMS = (
    (
        rb"\x1b",
        "hidden",
        rb"\[[0-9;:?]*[A-Za-z]|\][^\x07\x1b\r\n]{0,200}(?:\x07|\x1b\\)|[()][0-9A-Z]",
    ),
    (
        rb"\\",
        "hidden",
        _SLASHES + rb"(?:u001[bB]|u\{1[bB]\}|x1[bB]|033|[eE])\[[0-9;]{0,12}[A-Za-z]",
    ),
    # A backslash at the end of a line continues a command on the next one; also in JSON.
    (rb"\\", "space", rb"(?:\r?\n|(?:\\{2}|\\{6})n)[ \t]*"),
    (rb"\\", "code", _SLASHES + _CODE),
    (rb"\\", "octal", _SLASHES + rb"(?:[0-3][0-7]{2}|1[0-57]|40)"),
    (rb"\\", "letter", _SLASHES + rb"(?:c[A-Z]|[A-Za-z0/])"),
    (rb"\^", "hidden", rb"\[\[[0-9;]{0,12}[A-Za-z]"),
    (rb"\^", "letter", rb"[A-Z@]"),
    (rb"\[", "hidden", rb"(?<!;\[)(?<!1[bB]\[)[0-9]{1,3}(?:;[0-9]{1,3}){0,4}m"),
    (rb"\xe2", "hidden", rb"\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xa4]"),
    (rb"\xe2", "space", rb"\x80[\x80-\x8a\xaf]"),
    (rb"\xe3", "space", rb"\x80\x80"),
    (rb"\xef", "hidden", rb"\xbb\xbf"),
    (rb"\xc2", "hidden", rb"\xad"),
    (rb"\xc2", "space", rb"\xa0"),
    (rb"\xcd", "hidden", rb"\x8f"),
    (rb"<", "hidden", rb"wbr ?/?>"),
    (rb"%", "code", rb"(?:25){0,8}(?:u%(hex)s{4}|[0-7]%(hex)s)" % _HEX),
    (rb"%", "bytes", rb"(?:25){0,8}[89a-fA-F]%(hex)s(?:%%(?:25){0,8}[89a-fA-F]%(hex)s)*" % _HEX),
    (rb"%", "letter", rb"[nrt]"),
    (rb"`", "letter", rb"[nrt0]"),
    (
        rb"&",
        "entity",
        (
            rb"(?:amp;){0,8}(?:(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,24});"
            rb"|nbsp|lt|gt|quot|shy)"
        ),
    ),
)
"""First byte, kind and rest of everything that is encoded or not seen, in the order to try."""


def _any_form() -> Iterator[bytes]:
    for first in dict.fromkeys(first for first, _, _ in _FORMS):
        rests = (
            b"(?P<%s%d>%s)" % (kind.encode(), number, rest)
            for number, (byte, kind, rest) in enumerate(_FORMS)
            if byte == first
        )
        yield b"%s(?:%s)" % (first, b"|".join(rests))


# Each branch starts with another byte: `re` skips all other bytes quickly, and tries one branch.
_ENCODED = late_pattern(b"|".join(_any_form()))
# What quoted-printable encodes may also be a value after its name, and the end of base64.
_QUOTED_FORMS = (
    rb"=(?:(?P<hidden>(?<=[A-Za-z0-9+/_.-]=)\r?\n(?![A-Za-z0-9_.-]{1,40} ?[=:][^=]))|(?P<code>%s))"
)
_QUOTED = late_pattern(_QUOTED_FORMS % rb"3[DA]|0[AD9]|20|5C(?=[nrt])")
_ALL_QUOTED = late_pattern(_QUOTED_FORMS % rb"[0-9A-F]{2}")
_QUOTED_IN_SECRET = late_pattern(_QUOTED_FORMS % rb"3[DA]")
_DIGITS = late_pattern(rb"(?:[uUx]\{?|0000|=|%%(?:25)*)(%(hex)s+)\}?\Z" % _HEX)
_BYTE = late_pattern(rb"%%(?:25)*([89a-fA-F]%(hex)s)" % _HEX)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"/": b"/"}
"""What a letter after a backslash stands for; others stand for some control character."""
_TOKEN = r"(?:[A-Za-z0-9_+/-]{0,31}[.:/$!|])?[A-Za-z_-]{0,31}[0-9][A-Za-z0-9_-]{6}"  # noqa: S105 - a pattern
ENCODED = (
    r"\x1b|\\u001[bB]|\\x1[bB]|\\033\[|\\[eE]\[|\^\[\[|<wbr"
    r"|\\u\{?00|\\x\{?[02-7]|\\u20|\\u[fF][eE][fF]|=3[DA]|=0[AD]|=5C[nrt]|%[2-7]|%0[09A-Da-d]"
    r"|%1[bB]|%u00|\\(?:\r?\n|\\\\n)|&(?:[A-Za-z]{2,24};|#|nbsp)|[A-Za-z0-9_-]=\r?\n[A-Za-z0-9_-]"
    r"|(?:\\[A-Za-z0/]|\\[0-3][0-7]{2}|\\1[0-57]|\\40|\\0000[0-9a-fA-F]{2}|%[89a-fA-F][0-9a-fA-F]|%[nrt]"
    rf"|=(?:09|20)|\^[A-Z@]|`[nrt0]|\[[0-9;]{{1,12}}m){_TOKEN}|[A-Za-z0-9+]\\+/[A-Za-z0-9+]"
)
"""Matches every text in which encoded ASCII may hide a secret, and few others."""
MAY_BE_ENCODED = ENCODED.replace("{0,31}", "*").replace("{2,24};", "+;")
"""Matches these texts, and hardly any others: without counts, the search of all texts is faster."""
INVISIBLE = (
    r"[\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{2064}\x{feff}\x{ad}\x{34f}"
    r"\x{a0}\x{2000}-\x{200a}\x{202f}\x{3000}]"
)
"""Matches every text in which characters that are not ASCII and are not seen may hide a secret."""
DISGUISED = rf"{ENCODED}|{INVISIBLE}"
"""Matches every text in which a secret may be hidden, and few others."""
_TOKEN_FOLLOWS = late_pattern(_TOKEN.encode())
_ENDS_WITH_ESCAPE = late_pattern(
    rb"(?:\\(?:[A-Za-z0-9]|u%(hex)s{4}|U%(hex)s{8}|x%(hex)s{2}|[0-7]{1,3}|c[A-Z]|0000%(hex)s{2})"
    rb"|%%u%(hex)s{4}|%%(?:%(hex)s{2}|[nrt])|=[0-9A-F]{2}|\^[A-Z]|`[nrt0]"
    rb"|\[(?:[0-9;:?]{1,16}[A-Za-z]|[mKJH])|&(?:nbsp|lt|gt|quot|shy))\Z" % _HEX
)
_MAX_ESCAPE = 24
"""Bytes of the longest escape that may end with a letter or digit."""


@dataclass(frozen=True, slots=True)
class NormalisedText:
    """A view of a text, and where each part of it stands in the original."""

    data: bytes
    _starts: Sequence[int]
    """Ascending offsets in the view at which the distance to what it was decoded from changes."""
    _originals: Sequence[int]
    """For each of these, the offset in what it was decoded from."""
    _escapes: frozenset[int]
    """Offsets in the view of the last byte of decoded characters, each longer in the original."""
    _under: "NormalisedText | None" = None
    """The view from which this one was decoded; None: the text itself."""

    def to_original(self, span: Span) -> Span:
        """Return the span in the original; what the view omits within it is a part of it."""
        below = Span(self._below(span.start), self._below_end(span.end), span.rule)
        return below if self._under is None else self._under.to_original(below)

    def head(self, start: int) -> int:
        """Return where in the original the encoded characters start that precede an offset."""
        head = self._original(start)
        while start and head - self._original(start - 1) > 1:
            start -= 1
            head = self._original(start)
        return head

    def _original(self, offset: int) -> int:
        below = self._below(offset)
        return below if self._under is None else self._under._original(below)  # noqa: SLF001 - of the same class

    def _below(self, offset: int) -> int:
        index = bisect_right(self._starts, offset) - 1
        return self._originals[index] + offset - self._starts[index]

    def _below_end(self, end: int) -> int:
        """Return the end of the character before `end`: of an escape, its last byte."""
        if not end:
            return 0
        last = end - 1
        return self._below(end) if last in self._escapes else self._below(last) + 1


class _Layer:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pieces: list[bytes] = []
        self._starts, self._originals = array("Q", [0]), array("Q", [0])
        self._escapes = set[int]()
        self._position = self._length = 0

    def replace(self, start: int, end: int, seen: bytes) -> None:
        """Set what a reader sees of some bytes, which follow those of the last call."""
        self._pieces += [self._data[self._position : start], seen]
        self._length += start - self._position
        if seen:
            self._starts.append(self._length)
            self._originals.append(start)
            self._length += len(seen)
            self._escapes.add(self._length - 1)
        self._position = end
        self._starts.append(self._length)
        self._originals.append(end)

    def view(self, under: NormalisedText | None) -> NormalisedText | None:
        """Return the view; None if nothing was replaced."""
        if not self._pieces:
            return None
        data = b"".join([*self._pieces, self._data[self._position :]])
        escapes = frozenset(self._escapes)
        return NormalisedText(data, self._starts, self._originals, escapes, under)


def views(data: bytes) -> Iterator[NormalisedText]:
    """Yield the views of a text that differ from it, from the outermost layer to the innermost.

    If a word and a token are separated only by what is not seen, another view separates them.
    """
    under: NormalisedText | None = None
    unchanged = 0
    quoted = _ALL_QUOTED if _is_quoted(data) else _QUOTED
    for encoded in (_ENCODED, quoted) * _MAX_LAYERS:
        layer, ends_of_words = _Layer(data), set[int]()
        for match in encoded.finditer(data):
            seen = _seen(match)
            layer.replace(*match.span(), seen)
            if not seen and _ends_word(data, *match.span()):
                ends_of_words.add(match.start())
        if ends_of_words:
            yield _separated(data, encoded, ends_of_words, under)
        view = layer.view(under)
        unchanged = 0 if view is not None and view.data != data else unchanged + 1
        if view is not None and not unchanged:
            yield view
            under, data = view, view.data
        if unchanged == len((_ENCODED, quoted)):
            return


def _separated(
    data: bytes,
    encoded: re.Pattern[bytes],
    ends_of_words: Container[int],
    under: NormalisedText | None,
) -> NormalisedText:
    """Return the view in which a space stands for what is not seen at the ends of these words."""
    layer = _Layer(data)
    for match in encoded.finditer(data):
        layer.replace(*match.span(), b" " if match.start() in ends_of_words else _seen(match))
    return layer.view(under) or NormalisedText(data, [0], [0], frozenset(), under)


def normalised_texts(texts: Iterable[str]) -> dict[str, list[str]]:
    found = {
        text: [
            view.data.decode("utf-8", "surrogatepass")
            for view in views(text.encode("utf-8", "surrogatepass"))
        ]
        for text in texts
    }
    return {text: seen for text, seen in found.items() if seen}


def undisguised(secret: bytes) -> bytes:
    """Return a secret as its reader sees it: it has the same placeholder in every disguise.

    Encoded control characters in it stay as they are written.
    """
    for _ in range(_MAX_LAYERS):
        encoded = secret
        for pattern in (_ENCODED, _QUOTED_IN_SECRET):
            secret = pattern.sub(_seen_in_secret, secret)
        if secret == encoded:
            break
    return secret


def _is_quoted(data: bytes) -> bool:
    has_break = b"=\n" in data or b"=\r\n" in data
    return (has_break and b"=3D" in data) or b"quoted-printable" in data


def escape_before(data: bytes, end: int) -> int:
    """Return the start of the encoded character whose letter or digit ends at `end`, else `end`."""
    first = max(0, end - _MAX_ESCAPE)
    match = _ENDS_WITH_ESCAPE.search(data[first:end])
    return end if match is None else first + match.start()


def _ends_word(data: bytes, start: int, end: int) -> bool:
    """Return whether a word precedes, and a token follows, something that is not seen."""
    last = data[max(0, start - 1) : start]
    return (last.isalnum() or last == b"_") and _TOKEN_FOLLOWS.match(data, end) is not None


def _seen_in_secret(match: re.Match[bytes]) -> bytes:
    seen = _seen(match)
    is_control = (match.lastgroup or "").startswith("letter") and seen != b"/"
    return match[0] if is_control or (seen and seen < b" ") else seen


def _seen(match: re.Match[bytes]) -> bytes:
    return _SEEN[match.lastgroup or ""](match[0])


def _character(code: int) -> bytes:
    if code > sys.maxunicode or (chr(code).isspace() and chr(code) not in "\n\r\t"):
        return b" "
    return chr(code).encode("utf-8", "surrogatepass")


def _entity(written: bytes) -> bytes:
    seen = html.unescape(re.sub(rb"&(?:amp;)+", b"&", written).decode())
    if len(seen) == 1:
        return _character(ord(seen))
    return written if seen.startswith("&") else seen.encode()


def _percent_bytes(written: bytes) -> bytes:
    decoded = bytes.fromhex(b"".join(_BYTE.findall(written)).decode())
    character = decoded.decode("utf-8", "ignore")
    return decoded if character.encode() == decoded and not character.isspace() else b" "


_SEEN_OF_KIND: Mapping[str, Callable[[bytes], bytes]] = {
    "hidden": lambda _: b"",
    "space": lambda _: b" ",
    "letter": lambda written: _CONTROLS.get(written[-1:], b" "),
    "entity": _entity,
    "bytes": _percent_bytes,
    "octal": lambda written: _character(int(written.lstrip(b"\\"), 8)),
    "code": lambda written: _character(int(_DIGITS.findall(written)[0], 16)),
}
"""What is seen of each kind of encoded characters."""
_SEEN = dict(_SEEN_OF_KIND) | {
    f"{kind}{number}": _SEEN_OF_KIND[kind] for number, (_, kind, _) in enumerate(_FORMS)
}
"""What is seen, by the name of the group that matches."""
