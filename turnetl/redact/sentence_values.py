"""Secrets that a sentence says before their name: `using … as the password`, `… is your code`."""

import re
from collections.abc import Iterator

_MAX_BEFORE = 160
_VALUE = rb"[\"'`*]{0,2}([^ \t\r\n\"'`\\;<>|&(){}\[\]]{4,64}+|[0-9]{3} [0-9]{3})[\"'`*]{0,2}"
_OWNER = rb"(?:[ \t]+[a-z][a-z'-]{0,14}){0,4}[ \t]+"
_AS = re.compile(
    rb"(?i)\b(?:us(?:e|ed|es|ing)|type|enter(?:ing)?|try|tried|trying|entered|typed|with|then|choos(?:e|ing)|chose|picked"
    rb"|set|put|have|took|made|got|pick|keep|need|to)[ \t]+" + _VALUE + rb"[ \t]+(?:as|for)" + _OWNER + rb"\Z"
)
_IS = re.compile(
    rb"(?i)(?:\A|[ \t\r\n\"'>:(-])" + _VALUE + rb"[ \t]+(?:is|was|ist|est|es)" + _OWNER + rb"\Z"
)


def before_name(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the values before a name of a password or of a code.

    Args:
        data: one text.
        match: starts with the name.
    """
    first = max(0, match.start() - _MAX_BEFORE)
    line = max(first, data.rfind(b"\n", first, match.start()) + 1)
    before = data[line : match.start()]
    if not _LINK.search(before):
        return
    for pattern in (_AS, _IS):
        for found in pattern.finditer(before):
            yield line + found.start(1), line + found.end(1)


_LINK = re.compile(rb"(?i)[ \t](?:as|for|is|was|ist|est|es)[ \t]")
