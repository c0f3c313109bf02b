"""Columns, captions and lines that several tables use."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from turnetl.base.object_url import url_text
from turnetl.base.text import plural

V = TypeVar("V")

LISTED = 10
"""Values of a list that are printed, by default."""
_TAB_CELLS = 8


def add_group_column(table: Table, header: str = "group") -> None:
    """Add the column of group names: a long name continues on the next line, never truncated."""
    table.add_column(header, overflow="fold")


def removed_files(count: int) -> str:
    """Return what was removed of killed runs."""
    return f"{plural(count, 'temporary file')} of killed runs removed"


def caption(text: str) -> Text:
    """Return the line below a table. A table's own caption would be wrapped at its width."""
    return Text(text, style="italic")


def unwrapped(*parts: str | tuple[str, str]) -> Text:
    """Return a line that is never wrapped, because it is there to be copied or parsed.

    Args:
        parts: texts, or pairs of a text and a style.
    """
    return Text.assemble(*parts, no_wrap=True, overflow="ignore")


def indented(line: RenderableType, cells: int = 4) -> Padding:
    """Return a line that starts, and continues on the next line, after this many cells."""
    return Padding(_without_tabs(line), (0, 0, 0, cells), expand=False)


def hanging(mark: Text, text: Text) -> Table:
    """Return a text after a mark; the lines on which it continues start below its first one.

    Args:
        mark: a number or bullet, with the space after it.
        text: any text.
    """
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(mark, _without_tabs(text))
    return grid


def limited(values: Sequence[V], line: Callable[[V], Text], limit: int = LISTED) -> Iterator[Text]:
    """Yield the lines of the first values, and how many more there are: `--json` has all."""
    yield from map(line, values[:limit])
    if len(values) > limit:
        yield Text(f"and {len(values) - limit:,} more; --json has all", "dim")


def relative_path(path: Path, directory: Path) -> str:
    """Return the path relative to the directory if it lies below it, else the path or its URL."""
    text = str(path.relative_to(directory) if path.is_relative_to(directory) else path)
    return url_text(text) or text


def _without_tabs(line: RenderableType) -> RenderableType:
    """Return a line with spaces for tabs: rich takes a tab for narrower than it prints it."""
    if not isinstance(line, Text):
        return line
    expanded = line.copy()
    expanded.expand_tabs(_TAB_CELLS)
    return expanded


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
