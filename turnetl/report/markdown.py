"""Tables and texts as Markdown, safe for text of archives."""

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"(!(?=\[)|(?<=\])\(|<)")
"""What would make Markdown load or link something that an archive names."""


def escaped(text: str) -> str:
    """Return a text on one line, without what loads or links something."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """Return a table.

    Args:
        headers: of the columns.
        rows: their cells, any text.
        numbers: how many of the last columns are aligned to the right.
    """
    texts = len(headers) - numbers
    lines = [headers, ("---",) * texts + ("--:",) * numbers, *(map(_cell, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(texts: Iterable[str]) -> str:
    """Return a list of sentences; empty without any."""
    return "\n".join(f"- {escaped(text)}" for text in texts)


def sections(*parts: str) -> str:
    """Return the parts that are not empty, with a blank line between two of them."""
    return "\n\n".join(part for part in parts if part)


def _cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")
