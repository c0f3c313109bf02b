"""Turns as lines of several views: when, which, and what the user wrote."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS, Fact
from turnetl.base.text import format_minute
from turnetl.ingestion.undo_report import UndoneTurn
from turnetl.report.layout import indented, relative_path, unwrapped
from turnetl.retrieval.turn_summary import TurnSummary, short_id

_NO_PROMPT = "(no prompt)"


def turns_grid(
    turns: Iterable[tuple[TurnSummary, Sequence[RenderableType]]], *, with_group: bool
) -> Table:
    """Render a row per turn: its time and id, then its prompt above its further lines.

    Args:
        turns: each with the lines below its prompt.
        with_group: whether to name the group of each.
    """
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    if with_group:
        grid.add_column(overflow="fold")
    grid.add_column(min_width=30, overflow="fold")
    for turn, lines in turns:
        group = [Text(turn.receipt.group_id)] if with_group else []
        grid.add_row(
            Text(format_minute(turn.receipt.started_at), "cyan"),
            Text(turn.id, "bold"),
            *group,
            Group(Text(turn.prompt or _NO_PROMPT), *lines),
        )
    return grid


def turn_line(turn: UndoneTurn) -> Text:
    """Return a committed turn that is undone: its time, id, session and prompt."""
    receipt = turn.receipt
    return Text.assemble(
        (format_minute(receipt.started_at), "cyan"),
        "  ",
        (receipt.turn_id[:ID_CHARS], "bold"),
        f"  session {short_id(receipt.session_id)}  {turn.prompt or _NO_PROMPT}",
    )


def files_line(files: Sequence[str]) -> list[RenderableType]:
    """Return a line with the files; no line if there are none."""
    return [Text(f"files: {', '.join(files)}", "dim")] if files else []


def fact_text(fact: Fact) -> Text:
    """Return a fact with its id, and until when it held."""
    text = Text.assemble((fact.uuid[:ID_CHARS], "dim"), "  ", fact.text)
    if fact.invalid_at is not None:
        text.append(f"  (until {format_minute(fact.invalid_at)})", "dim")
    return text


def lineage(receipt: Receipt, directory: Path) -> Text:
    """Return archive and lines of a turn.

    Args:
        receipt: of the turn.
        directory: paths below it are printed relative to it.
    """
    path = relative_path(Path(receipt.archive), directory)
    return unwrapped((f"{path}:{receipt.first_line}-{receipt.last_line}", "dim"))


def section(title: str, lines: Iterable[RenderableType]) -> list[RenderableType]:
    """Return an empty line, a heading and indented lines; nothing without lines."""
    listed = list(lines)
    if not listed:
        return []
    return [
        Text(),
        Text(title, "bold"),
        *(indented(line) for line in listed),
    ]
