"""A text as its reader sees it: without colours and zero-width characters, with escapes decoded.

Lines of a command that a backslash continues are joined.

Secrets are searched for in this view and cut in the original, so the view keeps the place of each
of its bytes. Only punctuation is decoded: it separates a name from its value.
"""

import html
import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from turnetl.redact.spans import Span

_PUNCTUATION = rb"(?:2[0-9a-fA-F]|3[a-fA-F]|40|5[b-fB-F]|60|7[b-eB-E])"
# Each branch starts with a literal: only then `re` skips all other bytes quickly.
_COLOUR = rb"\x1b(?:\[[0-9;:?]*[A-Za-z]|\][^\x07\x1b\r\n]{0,200}(?:\x07|\x1b\\)|[()][0-9A-Z])"
_WRITTEN = (
    rb"\\(?:\\{0,7}(?:(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,12}[A-Za-z]"
    rb"|u(?:200[b-fB-F]|2060|[fF][eE][fF][fF]|00[aA][dD])|(?:u00|x)(%s)))" % _PUNCTUATION
)
_ZERO_WIDTH = rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xa4])|\xef\xbb\xbf|\xc2\xad|\xcd\x8f"
_ENCODED = rb"=(3[DA])|%%(%s)" % _PUNCTUATION
_ENTITY = rb"&(?:amp;)?((?:quot|apos|lt|gt|amp|equals|colon|#0?[0-9]{2,3}|#[xX]0?[0-9a-fA-F]{2});)"
# A backslash at the end of a line continues a command on the next one; also once or twice in JSON.
_CONTINUED = rb"\\(?:\r?\n|(?:\\{2}|\\{6})n)([ \t]*)"
_NORMALISED = re.compile(b"|".join((_COLOUR, _WRITTEN, _ZERO_WIDTH, _ENCODED, _ENTITY, _CONTINUED)))
DISGUISED = (
    r"\x1b|\\u001[bB]|\\x1[bB]|\\033\[|\\e\[|[\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{2064}"
    r"\x{feff}\x{ad}\x{34f}]|\\u00[2-7adAD]|\\x[2-7]|\\u20|\\uf|=3[DA]|%[2-7]|\\(?:\r?\n|\\\\n)|&(?:quot|apos|lt|gt|amp|equals|colon|#)"
)
"""Matches every text that has another view than itself, and few others."""


@dataclass(frozen=True, slots=True)
class NormalisedText:
    """The view of a text, and where each part of it stands in the original."""

    data: bytes
    _starts: Sequence[int]
    """Offsets in the view at which the distance to the original changes, in ascending order."""
    _originals: Sequence[int]
    """For each of these, the offset in the original."""
    _escapes: frozenset[int]
    """Offsets in the view of decoded characters, each longer in the original."""

    def to_original(self, span: Span) -> Span:
        """Return the span in the original; what the view omits within it is a part of it."""
        return Span(self._original(span.start), self._original_end(span.end), span.rule)

    def _original(self, offset: int) -> int:
        index = bisect_right(self._starts, offset) - 1
        return self._originals[index] + offset - self._starts[index]

    def _original_end(self, end: int) -> int:
        """Return the end of the character before `end`: of an escape, its last byte."""
        if not end:
            return 0
        last = end - 1
        return self._original(end) if last in self._escapes else self._original(last) + 1


def normalise(data: bytes) -> NormalisedText | None:
    """Return the view of a text; None if it equals the text."""
    pieces, starts, originals = [], array("Q", [0]), array("Q", [0])
    escapes = set()
    position = length = 0
    for match in _NORMALISED.finditer(data):
        pieces.append(data[position : match.start()])
        length += len(pieces[-1])
        character = _character(match)
        if character:
            escapes.add(length)
            pieces.append(character)
            starts.append(length)
            originals.append(match.start())
            length += len(character)
        position = match.end()
        starts.append(length)
        originals.append(position)
    if not pieces:
        return None
    pieces.append(data[position:])
    return NormalisedText(b"".join(pieces), starts, originals, frozenset(escapes))


def normalised_texts(texts: Sequence[str]) -> dict[str, str]:
    """Return the view of each text that differs from its view."""
    views = {text: normalise(text.encode("utf-8", "surrogatepass")) for text in texts}
    return {
        text: view.data.decode("utf-8", "surrogatepass")
        for text, view in views.items()
        if view is not None
    }


def undisguised(secret: bytes) -> bytes:
    """Return a secret as its reader sees it: it has the same placeholder in every disguise."""
    normalised = normalise(secret)
    return secret if normalised is None else normalised.data


def _character(match: re.Match[bytes]) -> bytes:
    """Return the character that an escape stands for; none for a colour."""
    if match[5]:
        return b" "
    if match[4]:
        text = html.unescape(f"&{match[4].decode()}")
        return text.encode() if len(text) == 1 and text.isascii() and text.isprintable() else b"\0"
    digits = match[1] or match[2] or match[3]
    return bytes([int(digits, 16)]) if digits else b""
