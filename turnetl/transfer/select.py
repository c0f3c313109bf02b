"""The turns of a lake that meet the conditions of a search."""

from collections.abc import Collection, Iterable

import polars as pl

from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.index.selection import Selection
from turnetl.lake import Lake, turn_from_row
from turnetl.transfer.content import ExportedTurn

_TOOLS = pl.col("tool_calls").list.eval(pl.element().struct.field("name").str.to_lowercase())


def condition(selection: Selection, turn_ids: Collection[str] | None) -> pl.Expr | None:
    """Return the condition on rows of `schema.TURNS`; None: there is none.

    Conditions on facts are left out: `turn_ids` meet them; None: all turns do.
    """
    times = pl.col("started_at")
    met = list[pl.Expr]()
    if selection.since is not None:
        met.append(times >= selection.since)
    met += [times < end for end in (selection.until, selection.as_of) if end is not None]
    if selection.session is not None:
        met.append(pl.col("session_id").str.starts_with(selection.session))
    if selection.format is not None:
        met.append(pl.col("format") == selection.format)
    if selection.branch is not None:
        met.append(pl.col("git_branch") == selection.branch)
    if selection.tool is not None:
        met.append(_TOOLS.list.contains(selection.tool.lower()))
    if turn_ids is not None:
        met.append(pl.col("turn_id").is_in(sorted(turn_ids)))
    return pl.all_horizontal(*(one.fill_null(value=False) for one in met)) if met else None


def selected_turns(
    lake: Lake, groups: Iterable[GroupId], where: pl.Expr | None
) -> list[ExportedTurn]:
    """Return the turns of the episodes tables of these groups that meet a condition, each once."""
    columns = (*schema.TURNS.polars, "noise", "copies")
    turns = []
    for group in groups:
        lake.verify_episodes(group)
        with lake.reading_episodes(group):
            table = lake.scan_episodes(group)
            met = table if where is None else table.filter(where)
            rows = met.select(columns).collect()
        turns += [
            ExportedTurn(turn_from_row(row), row["noise"], row["copies"])
            for row in rows.iter_rows(named=True)
        ]
    return turns
