"""Nodes as Markdown: the artifacts of Prefect, and `turnetl digest --markdown`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

from turnetl.views import nodes

_MARKUP = re.compile(r"(!(?=\[)|(?<=\])\(|<)")
"""What would make Markdown load or link something that an archive names."""


def markdown(view: nodes.View, directory: Path | None = None, *, title: str = "") -> str:
    """Return the nodes of a view, with a blank line between two blocks."""
    heading = [f"# {escaped(title)}"] if title else []
    return "\n\n".join([*heading, *_Markdown(directory).blocks(view, 2)])


def escaped(text: str) -> str:
    """Return a text on one line, without what loads or links something."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


@dataclass(frozen=True, slots=True)
class _Markdown:
    directory: Path | None

    def blocks(self, view: nodes.View, level: int) -> Iterator[str]:
        """Yield paragraphs, lists and tables; what is listed one after another is one list."""
        for is_list, found in groupby(view, lambda node: isinstance(node, nodes.Lines)):
            if is_list:
                blocks: Iterator[str] = iter([self._list([*found])])
            else:
                blocks = (block for node in found for block in self._blocks(node, level))
            yield from filter(None, blocks)

    def _blocks(self, node: nodes.Node, level: int) -> Iterator[str]:
        match node:
            case nodes.PageOnly(inner):
                yield from self.blocks(inner, level)
            case nodes.Section(title, inner):
                yield f"{'#' * level} {escaped(title)}"
                yield from self.blocks(inner, level + 1)
            case nodes.Table(title=title):
                yield f"{'#' * level} {escaped(title)}" if title else ""
                yield self._table(node)
            case _:
                yield self._inline(node)

    def _list(self, view: nodes.View) -> str:
        lists = (node.nodes if isinstance(node, nodes.Lines) else [node] for node in view)
        items = chain.from_iterable(lists)
        return "\n".join(f"- {self._inline(node)}" for node in items)

    def _table(self, table: nodes.Table) -> str:
        """Return a table; one without headers is a list of its rows."""
        headers = [escaped(column.header) for column in table.columns]
        if not any(headers):
            return "\n".join(f"- {self._joined(row)}" for row in table.rows)
        ruler = ["--:" if column.is_number else "---" for column in table.columns]
        rows = [
            [self._inline(cell).replace("|", "\\|") for cell in row] for row in table.rows if row
        ]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, ruler, *rows))

    def _inline(self, node: nodes.Node) -> str:
        match node:
            case nodes.HangingIndent(_, text):
                return self._inline(text)
            case nodes.Section(title, inner):
                return f"{escaped(title)}: {self._joined(inner)}"
            case nodes.Lines(inner) | nodes.PageOnly(inner):
                return self._joined(inner)
            case nodes.Table(rows=rows):
                return self._joined([one for row in rows for one in row])
            case _:
                return escaped(nodes.as_line(node).text(self.directory))

    def _joined(self, view: nodes.View) -> str:
        return "; ".join(filter(None, map(self._inline, view)))
