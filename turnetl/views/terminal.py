"""Nodes as what rich prints on a terminal."""

from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from turnetl.views.nodes import (
    Beside,
    Column,
    Frame,
    Hanging,
    Line,
    Lines,
    Node,
    Section,
    Table,
    View,
    as_line,
)

_TAB_CELLS = 8


def rendered(view: View, directory: Path) -> RenderableType:
    """Return what rich prints for the nodes of a view.

    Args:
        view: the nodes.
        directory: paths below it are printed relative to it.
    """
    return _Terminal(directory).group(view)


@dataclass(frozen=True, slots=True)
class _Terminal:
    directory: Path

    def group(self, nodes: View, indent: int = 0) -> Group:
        return Group(*(self._indented(node, indent) for node in nodes if not _is_beside(node)))

    def _node(self, node: Node) -> RenderableType:
        match node:
            case Lines(nodes, indent):
                return self.group(nodes, indent)
            case Hanging():
                return self._hanging(node)
            case Section(title, nodes, style, indent):
                return Group(self._text(Line(((title, style),))), self.group(nodes, indent))
            case Table():
                return self._table(node)
            case Beside():
                return Group()
            case _:
                return self._text(as_line(node))

    def _text(self, line: Line) -> Text:
        parts = line.styled(self.directory)
        if not line.is_wrapped:
            return Text.assemble(*parts, no_wrap=True, overflow="ignore")
        text = Text.assemble(*parts)
        # Rich takes a tab for narrower than it prints it.
        text.expand_tabs(_TAB_CELLS)
        return text

    def _indented(self, node: Node, cells: int) -> RenderableType:
        view = self._node(node)
        return Padding(view, (0, 0, 0, cells), expand=False) if cells and node else view

    def _hanging(self, node: Hanging) -> RichTable:
        grid = RichTable.grid()
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(self._text(node.mark), self._text(node.text))
        return grid

    def _table(self, table: Table) -> RichTable:
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

    def _cell(self, node: Node, column: Column) -> RenderableType:
        if column.breaks and isinstance(node, str):
            return self._node(node.replace(column.breaks, f"{column.breaks}\n"))
        return self._node(node)


def _is_beside(node: Node) -> bool:
    return isinstance(node, Beside)


def _framed(table: Table) -> RichTable:
    """Return the table without columns and rows."""
    padding = (0, table.padding, 0, 0)
    if not any(column.header for column in table.columns):
        return RichTable.grid(padding=padding)
    match table.frame:
        case Frame.LINES:
            title = Text(table.title) if table.title else None
            return RichTable(title=title, title_justify="left")
        case Frame.HEAD:
            return RichTable(box=SIMPLE, pad_edge=False, padding=padding)
        case Frame.NONE:
            return RichTable(box=None, padding=padding)
