"""Secrets that a sentence says before their name: `using … as the password`, `… is your code`."""

import re
from collections.abc import Iterator

MAX_BEFORE = 160
_VALUE = (
    r"[\"'`*]{0,2}([^ \t\r\n\"'`\\;<>|&(){}\[\]0-9!#%^*~+@]{0,60}[0-9!#%^*~+@]"
    r"[^ \t\r\n\"'`\\;<>|&(){}\[\]]{0,60}+|[0-9]{3} [0-9]{3})[\"'`*]{0,2}"
)
_OWNER = r"(?:[ \t]+[a-z][a-z'-]{0,14}){0,4}[ \t]+"
BEFORE_NAME = (
    r"(?i:\b(?:us(?:e|ed|es|ing)|type|enter(?:ing)?|try|tried|trying|entered|typed|with|then"
    r"|choos(?:e|ing)|chose"
    rf"|picked|set|put|have|took|made|got|pick|keep|need|to)[ \t]+{_VALUE}[ \t]+(?:as|for){_OWNER}"
    rf"|(?:\A|[ \t\r\n\"'>:(-]){_VALUE}[ \t]+(?:is|was|ist|est|es){_OWNER})"
)
"""A value with a digit or a sign, up to the name: it decides whether a text is a candidate."""
_BEFORE_NAME = re.compile(rf"{BEFORE_NAME}\Z".encode())


def before_name(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the value before a name of a password or of a code.

    Args:
        data: one text.
        match: starts with the name.
    """
    first = max(0, match.start() - MAX_BEFORE)
    found = _BEFORE_NAME.search(data, first, match.start())
    if found is not None:
        yield found.span(found.lastindex or 0)
