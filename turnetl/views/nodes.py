"""Nodes: what a view is made of, for the terminal and for Markdown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import TypeVar

from turnetl.base.object_url import url_text

V = TypeVar("V")

LISTED = 10


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file. What prints them knows the folder in which they are read."""

    path: str
    first: int
    last: int

    def text(self, directory: Path | None) -> str:
        """Return the path, relative to the directory if it lies below it, and the lines."""
        path = Path(self.path)
        if directory is not None and path.is_relative_to(directory):
            path = path.relative_to(directory)
        text = str(path)
        return f"{url_text(text) or text}:{self.first}-{self.last}"


Part = str | tuple[str, str] | LineRange
"""A text, a text and how a terminal styles it, or a place."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text. Markdown has no styles."""

    parts: tuple[Part, ...]
    is_wrapped: bool = True
    """False: a terminal never wraps it, because it is there to be copied or parsed."""
    max_lines: int | None = None
    """A terminal prints no more, and ends the last one with an ellipsis; None: prints all."""

    def styled(self, directory: Path | None) -> Iterator[tuple[str, str]]:
        for part in self.parts:
            match part:
                case str():
                    yield part, ""
                case LineRange():
                    yield part.text(directory), "dim"
                case _:
                    yield part

    def text(self, directory: Path | None) -> str:
        return "".join(text for text, _ in self.styled(directory))


@dataclass(frozen=True, slots=True)
class Caption:
    """The line below a table: what the table as a whole says."""

    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Nodes below one another: a list in Markdown, and one text in a cell."""

    nodes: "View"
    indent: int = 0
    """Cells of a terminal after which each line starts, and continues on the next one."""


@dataclass(frozen=True, slots=True)
class HangingIndent:
    """A text after a mark; the lines on which it continues start below its first one."""

    mark: Line
    """A number or bullet, with the space after it."""
    text: Line


@dataclass(frozen=True, slots=True)
class Statement:
    """A text with its kind, and with the id or place that it comes from."""

    label: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Nodes below a heading."""

    title: str
    nodes: "View"
    style: str = "bold"
    indent: int = 4
    """Cells of a terminal before the nodes."""


class Frame(Enum):
    """What a terminal draws around the cells of a table."""

    LINES = auto()
    HEAD = auto()
    """A line below the headers, and one above and below all rows."""
    NONE = auto()
    """Narrow enough for a terminal."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; a long word continues on the next line, and is never truncated."""

    header: str = ""
    is_number: bool = False
    is_wrapped: bool = True
    min_width: int | None = None
    breaks: str = ""
    """A character after which a terminal, which has little room, begins a new line."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below headers; without any header a grid."""

    columns: Sequence[Column]
    rows: Sequence[Sequence["Node"]]
    """An empty row separates those before it from those after it."""
    frame: Frame = Frame.LINES
    title: str = ""
    padding: int = 2
    """Cells between two columns of a terminal, if there is no line."""


@dataclass(frozen=True, slots=True)
class PageOnly:
    """What only a page has: the terminal prints sentences about it beside the result."""

    nodes: "View"


Node = str | Line | Caption | Lines | HangingIndent | Statement | Section | Table | PageOnly
View = Sequence[Node]


def line(*parts: Part) -> Line:
    return Line(parts)


def as_line(node: str | Line | Caption | Statement) -> Line:
    match node:
        case str():
            return line(node)
        case Caption(text):
            return line((text, "italic"))
        case Statement(label, text, source):
            end = f"  {source}" if source else ""
            return line((f"{label}: ", "cyan"), text, (end, "dim"))
        case Line():
            return node


def unwrapped(*parts: Part) -> Line:
    """Return a line that a terminal never wraps."""
    return Line(parts, is_wrapped=False)


def numbers(*headers: str) -> tuple[Column, ...]:
    return tuple(Column(header, is_number=True) for header in headers)


def counted(counts: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)


def tally(counts: Iterable[tuple[str, int]]) -> str:
    """Return each count with its name: `3 stale, 1 quarantined`."""
    return ", ".join(f"{count:,} {name}" for name, count in counts)


def section(title: str, nodes: Iterable[Node]) -> View:
    """Return an empty line, a heading and indented nodes; nothing without nodes."""
    listed = tuple(nodes)
    return ["", Section(title, listed)] if listed else []


def limited(values: Sequence[V], node: Callable[[V], Node], limit: int = LISTED) -> list[Node]:
    """Return the nodes of the first values, and how many more there are: `--json` has all."""
    more = [line((f"and {len(values) - limit:,} more; --json has all", "dim"))]
    return [*map(node, values[:limit]), *(more if len(values) > limit else ())]
