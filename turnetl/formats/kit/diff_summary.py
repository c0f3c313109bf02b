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
_has_words = re.compile(r"\w").search
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
    others.add("")
    for line in text.splitlines():
        if (stripped := line.strip()) not in others:
            yield stripped


def line_changes(old: str, new: str) -> tuple[Iterable[str], Iterable[str]]:
    """Return `changed_lines` of the old text and of the new one, as far as they are read."""
    if not old or not new:
        return changed_lines(old, but_not_in=""), changed_lines(new, but_not_in="")
    before, after = ([*map(str.strip, text.splitlines())] for text in (old, new))
    only_before, only_after = {*before}.difference(after), {*after}.difference(before)
    only_before.discard("")
    only_after.discard("")
    return filter(only_before.__contains__, before), filter(only_after.__contains__, after)


def _informative(changed: Iterable[str], limit: int) -> list[str]:
    """Return the most informative lines, in their order."""
    # The first character of most lines is enough, and examined in a third of the time.
    with_words = (line for line in changed if line[:1].isalnum() or _has_words(line))
    lines = list(dict.fromkeys(islice(with_words, _EXAMINED)))
    if len(lines) < 2 or _KEY.search("\n".join(lines)):  # noqa: PLR2004  none but the first
        return [line[:_LINE] for line in lines[:1]]
    selected, remaining = {0}, limit - len(lines[0])
    for index in _by_rank(lines):
        if remaining <= 1:
            break
        if len(lines[index]) < remaining:
            selected.add(index)
            remaining -= len(lines[index]) + 1
    return [lines[index][:_LINE] for index in sorted(selected)]


def _by_rank(lines: list[str]) -> Iterator[int]:
    """Yield the indexes of the lines after the first one: first those that name something."""
    others = []
    for index in range(1, len(lines)):
        if lines[index].startswith(_DEFINITIONS):
            yield index
        else:
            others.append(index)
    yield from others
