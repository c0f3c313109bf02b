"""What a change to a file is about, in a few of its lines.

The first line that went or came, then what has a name (functions, classes, headings), then others
as long as there is room. Lines are whole and stay lines: a secret must still be known as one.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

_GONE, _CAME = 80, 260
"""Characters of lines that went and that came."""
_LINE = 500
"""Characters of the first line, whatever the room."""
_LOOKED_AT = 500
"""Changed lines that are looked at."""
_KEY = re.compile("-----(?:BEGIN|END)")
"""Stands around a secret over many lines: but for the first line none is told."""
_WORDS = re.compile(r"\w")
"""A line without any says nothing by itself."""
_NAMES = (
    *("def ", "async def ", "class ", "func ", "fn ", "pub fn ", "pub struct ", "function "),
    *("export ", "interface ", "struct ", "enum ", "trait ", "impl ", "type ", "public "),
    *("#", "CREATE TABLE", "module ", "resource "),
)


def gist(gone: Iterable[str], came: Iterable[str]) -> str:
    """Return `- what went + what came`, either only if there is any."""
    told = ("\n".join(_telling(gone, _GONE)), "\n".join(_telling(came, _CAME)))
    return " ".join(f"{sign} {lines}" for sign, lines in zip("-+", told, strict=True) if lines)


def changed(text: str, *, but_not_in: str) -> Iterator[str]:
    """Yield the lines of a text that another one does not have, without blanks around them."""
    if not text:
        return
    others = set(map(str.strip, but_not_in.splitlines()))
    for line in text.splitlines():
        if (bare := line.strip()) and bare not in others:
            yield bare


def _telling(changed: Iterable[str], room: int) -> list[str]:
    """Return the lines that tell most, in their order."""
    lines = list(dict.fromkeys(islice(filter(_WORDS.search, changed), _LOOKED_AT)))
    if not lines or any(map(_KEY.search, lines)):
        return [line[:_LINE] for line in lines[:1]]
    by_name = sorted(range(1, len(lines)), key=lambda at: not lines[at].startswith(_NAMES))
    taken, left = {0}, room - len(lines[0])
    for at in by_name:
        if len(lines[at]) < left:
            taken.add(at)
            left -= len(lines[at]) + 1
    return [lines[at][:_LINE] for at in sorted(taken)]
