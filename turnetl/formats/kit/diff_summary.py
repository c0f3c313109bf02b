"""A summary of a change to a file, made of a few of its lines.

It has the first removed or added line, then lines that name something (functions, classes,
headings), then others as far as they fit. Lines stay complete and separate, because a secret must
still be detected in them.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

_REMOVED, ADDED_CHARS = 80, 260
"""Characters of removed lines and of added lines."""
_LINE = 500
"""Maximum characters of the first line; it is kept even above the limit."""
_EXAMINED = 500
"""Changed lines that are examined."""
_KEY = re.compile("-----(?:BEGIN|END)")
"""Encloses a secret of many lines: then only the first line is used."""
_WORDS = re.compile(r"\w")
"""A line without any is not informative."""
_DEFINITIONS = (
    *("def ", "async def ", "class ", "func ", "fn ", "pub fn ", "pub struct ", "function "),
    *("export ", "interface ", "struct ", "enum ", "trait ", "impl ", "type ", "public "),
    *("#", "CREATE TABLE", "module ", "resource "),
)


def summarize_changes(removed: Iterable[str], added: Iterable[str]) -> str:
    """Return `- removed lines + added lines`, each part only if it has lines."""
    parts = (
        "\n".join(_informative(removed, _REMOVED)),
        "\n".join(_informative(added, ADDED_CHARS)),
    )
    return " ".join(f"{sign} {lines}" for sign, lines in zip("-+", parts, strict=True) if lines)


def changed_lines(text: str, *, but_not_in: str) -> Iterator[str]:
    """Yield the lines of a text that another text does not have, stripped of whitespace."""
    if not text:
        return
    others = set(map(str.strip, but_not_in.splitlines()))
    for line in text.splitlines():
        if (stripped := line.strip()) and stripped not in others:
            yield stripped


def _informative(changed: Iterable[str], limit: int) -> list[str]:
    """Return the most informative lines, in their order."""
    lines = list(dict.fromkeys(islice(filter(_WORDS.search, changed), _EXAMINED)))
    if not lines or any(map(_KEY.search, lines)):
        return [line[:_LINE] for line in lines[:1]]
    by_rank = sorted(
        range(1, len(lines)), key=lambda index: not lines[index].startswith(_DEFINITIONS)
    )
    selected, remaining = {0}, limit - len(lines[0])
    for index in by_rank:
        if len(lines[index]) < remaining:
            selected.add(index)
            remaining -= len(lines[index]) + 1
    return [lines[index][:_LINE] for index in sorted(selected)]
