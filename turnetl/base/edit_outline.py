"""What an edit changed, by definition: one text behind the input of a tool call, which has a part.

`src/cart.py :: - return round(x) + return cents(x) ‖ ~total · return round(x) ⇒ return cents(x)`
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

ADDED, CHANGED, DELETED, RENAMED, IMPORTED = "+", "~", "-", ">", "^"
"""The first character of a change says its kind."""
NET = "="
"""Precedes what several calls of a turn did to a file together. Its name is their number, its path
that of the file; the changes that follow are of the last of them and of those before it."""
FILE = "@"
"""Precedes the path that the following changes are of, if a call edits several files."""
BECOMES = " ⇒ "
"""Between a line before the edit and the line after it; one of them may be missing."""
PARAMETER, RETURNS = "(", "-> "
"""Begin a line that is a parameter, or the result, of a function."""
BEFORE = " ‖ "
"""Between the input of a call and each change."""
_DETAIL = " · "
_ON_ITS_LINE = f"\n{BEFORE.lstrip()}"


class EditedPart(NamedTuple):
    """A change of one definition: a function, a class, a setting, a heading."""

    kind: str
    name: str
    """Empty: the file itself. Of an import: the package."""
    detail: str = ""
    """Of what was added: what it says about itself. Of what changed: the line before and after it,
    or calls and an added comment (`-old +new # Why`); one that changed in several ways has a change
    for each. Of what was renamed: the new name."""
    path: str = ""
    """Empty: the only file of the call."""


def outline_text(changes: Iterable[EditedPart]) -> str:
    """Return the changes as lines: a secret must be detected in them as in the input itself."""
    texts, path = [], ""
    for change in changes:
        if change.kind == NET:
            path = change.path
            texts.append(f"{NET}{change.name} {path}")
            continue
        if change.path != path:
            path = change.path
            texts.append(f"{FILE}{path}")
        detail = change.detail.replace(BECOMES, "\n") if change.detail else ""
        texts.append(f"{change.kind}{change.name}{_DETAIL if detail else ''}{detail}")
    return "".join(f"{_ON_ITS_LINE}{text}" for text in texts)


def split_lines(text: str) -> tuple[str, str]:
    """Return an input without the lines of `outline_text`, and these on one line."""
    summary, separator, outline = text.partition(_ON_ITS_LINE)
    if not separator:
        return text, ""
    changes = outline.split(_ON_ITS_LINE)
    return summary, "".join(f"{BEFORE}{change.replace(chr(10), BECOMES)}" for change in changes)


def without_outline(text: str) -> str:
    """Return the input of a tool call without what it changed by definition."""
    return text.partition(BEFORE)[0]


def outline_of(text: str) -> Iterator[EditedPart]:
    """Yield the changes that the input of a tool call names."""
    path = ""
    for part in text.split(BEFORE)[1:]:
        kind, (name, _, detail) = part[:1], part[1:].partition(_DETAIL)
        if kind == FILE:
            path = part[1:]
        elif kind == NET:
            number, _, path = part[1:].partition(" ")
            yield EditedPart(NET, number, "", path)
        elif kind in {ADDED, CHANGED, DELETED, RENAMED, IMPORTED}:
            yield EditedPart(kind, name, detail, path)
