"""Nodes as what rich prints on a terminal."""

from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from turnetl.views import nodes

_TAB_CELLS = 8


def rendered(view: nodes.View, directory: Path) -> RenderableType:
    """Return what rich prints for the nodes of a view; paths are relative to the directory."""
    return _Terminal(directory).group(view)


@dataclass(frozen=True, slots=True)
class _Terminal:
    directory: Path

    def group(self, view: nodes.View, indent: int = 0) -> Group:
        shown = (node for node in view if not isinstance(node, nodes.PageOnly))
        return Group(*(self._indented(node, indent) for node in shown))

    def _node(self, node: nodes.Node) -> RenderableType:
        match node:
            case nodes.Lines(inner, indent):
                return self.group(inner, indent)
            case nodes.HangingIndent():
                return self._hanging(node)
            case nodes.Section(title, inner, style, indent):
                return Group(self._text(nodes.Line(((title, style),))), self.group(inner, indent))
            case nodes.Table():
                return self._table(node)
            case nodes.PageOnly():
                return Group()
            case _:
                return self._text(nodes.as_line(node))

    def _text(self, line: nodes.Line) -> "Text | _Truncated":
        parts = line.styled(self.directory)
        if not line.is_wrapped:
            return Text.assemble(*parts, no_wrap=True, overflow="ignore")
        text = Text.assemble(*parts)
        # Rich takes a tab for narrower than it prints it.
        text.expand_tabs(_TAB_CELLS)
        return text if line.max_lines is None else _Truncated(text, line.max_lines)

    def _indented(self, node: nodes.Node, cells: int) -> RenderableType:
        match node:
            case nodes.Lines(inner, indent):
                return self.group(inner, cells + indent)
            case nodes.Line(parts, is_wrapped=False) if parts:  # which padding would cut
                return self._text(nodes.unwrapped(" " * cells, *parts))
        view = self._node(node)
        return Padding(view, (0, 0, 0, cells), expand=False) if cells and node else view

    def _hanging(self, node: nodes.HangingIndent) -> Table:
        grid = Table.grid()
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(self._text(node.mark), self._text(node.text))
        return grid

    def _table(self, table: nodes.Table) -> Table:
        view = _framed(table)
        for column in table.columns:
            view.add_column(
                Text(column.header),
                justify="right" if column.is_number else "left",
                no_wrap=not column.is_wrapped,
                overflow="fold" if column.is_wrapped else "ellipsis",
                min_width=column.min_width,
            )
        for row in table.rows:
            if row:
                view.add_row(*map(self._cell, row, table.columns))
            else:
                view.add_section()
        return view

    def _cell(self, node: nodes.Node, column: nodes.Column) -> RenderableType:
        if column.breaks and isinstance(node, str):
            return self._node(node.replace(column.breaks, f"{column.breaks}\n"))
        return self._node(node)


@dataclass(frozen=True, slots=True)
class _Truncated:
    """The first lines of a text, as many as are allowed at the width at which it is printed."""

    text: Text
    max_lines: int

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        # Without it, each line is filled to the width, which is unlimited in a pipe.
        return Measurement.get(console, options, self.text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = self.text.wrap(console, options.max_width, overflow="fold")
        for line in lines:
            line.rstrip()
        yield from lines[: self.max_lines - 1]
        if rest := lines[self.max_lines - 1 :]:
            last = Text(" ").join(rest)
            last.truncate(options.max_width, overflow="ellipsis")
            yield last


def _framed(table: nodes.Table) -> Table:
    padding = (0, table.padding, 0, 0)
    if not any(column.header for column in table.columns):
        return Table.grid(padding=padding)
    match table.frame:
        case nodes.Frame.LINES:
            title = Text(table.title) if table.title else None
            return Table(title=title, title_justify="left")
        case nodes.Frame.HEAD:
            return Table(box=SIMPLE, pad_edge=False, padding=padding)
        case nodes.Frame.NONE:
            return Table(box=None, padding=padding)
