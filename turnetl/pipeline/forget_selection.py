"""Which turns of lake and graph a `forget` takes, and by which texts their removal is proven."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import polars as pl

from turnetl.base import schema
from turnetl.base.graph_model import CommitRecord, Receipt
from turnetl.base.model import GroupId, TurnId
from turnetl.graph.port import GraphStore
from turnetl.ingestion.forget_report import ForgetSelection
from turnetl.ingestion.forget_text import spellings, turns_holding
from turnetl.ingestion.undo_plan import UndoPlan, plan_undo
from turnetl.lake import Lake
from turnetl.lake.byte_search import holds_any
from turnetl.lake.forgotten import ForgottenTurns
from turnetl.parsing.forgetting import listed_turns, turns_with

_NO_TEXT = ("turn_id", "group_id", "format", "archive", "content_hash", "usage")
"""Columns that hold no text of the turn."""
TURN_FIELDS = ("group_id", "turn_id", "session_id", "archive", "first_line", "last_line")
"""Of a row and of a receipt, in the order of `TurnToForget`."""
_SAMPLE = re.compile(r"[A-Za-z0-9 ,.;:()/_-]{24,64}")
"""Written in the same way in JSON."""
_MAX_SAMPLES = 40
_SAMPLES_PER_TEXT = 2


def rows_to_forget(
    lake: Lake,
    selection: ForgetSelection,
    groups: Collection[GroupId],
    forgotten: ForgottenTurns,
) -> pl.DataFrame:
    """Return the rows of the turns files that are selected, or listed and not removed yet."""
    listed = listed_turns(lake, forgotten)
    if selection.is_empty:
        return listed
    selected = turns_with(lake, _condition(selection, groups))
    both = [rows for rows in (listed, selected) if not rows.is_empty()]
    return pl.concat(both).unique(("turn_id", "archive"), keep="any") if both else listed


@dataclass(frozen=True, slots=True)
class GroupSelection:
    """The turns of a group of the graph."""

    forgotten: tuple[Receipt, ...]
    plan: UndoPlan
    """Undoes these, and those that built on them or hold the text in what a model wrote."""


@dataclass(frozen=True, slots=True)
class GraphScope:
    selection: ForgetSelection
    in_lake: Collection[TurnId]
    """Turns that are taken from the lake."""
    listed: ForgottenTurns
    """The list of the lake: what an interrupted removal left."""
    is_selected_group: bool
    """Whether the selection takes turns of the group."""

    def takes(self, receipt: Receipt, own: Collection[TurnId] | None) -> bool:
        """Return whether a turn is forgotten; `own` hold the text, and are None without one."""
        if receipt.turn_id in self.in_lake or self.listed.includes(
            receipt.turn_id, receipt.session_id
        ):
            return True
        return (
            self.is_selected_group
            and not self.selection.is_empty
            and receipt.session_id.startswith(self.selection.session or "")
            and (own is None or receipt.turn_id in own)
        )


async def select_in_graph(
    store: GraphStore,
    records: Sequence[CommitRecord],
    group: GroupId,
    scope: GraphScope,
    *,
    cascade: bool,
) -> GroupSelection:
    """Return what a `forget` takes from a group of the graph, of which `records` are all turns."""
    own, left = None, set[TurnId]()
    if scope.selection.text is not None and scope.is_selected_group:
        contents = await store.load(group)
        own, left = turns_holding(contents, records, spellings(scope.selection.text))
    receipts = tuple(record.receipt for record in records if scope.takes(record.receipt, own))
    chosen = {receipt.turn_id for receipt in receipts}
    left -= chosen
    plan = plan_undo(group, records, chosen | left, cascade=cascade)
    holders = [record.receipt for record in reversed(records) if record.receipt.turn_id in left]
    return GroupSelection(receipts, replace(plan, dependents=(*plan.dependents, *holders)))


def samples(lake: Lake, rows: pl.DataFrame) -> tuple[str, ...]:
    """Return pieces of the turns' texts that no other turn of the lake holds."""
    if rows.is_empty():
        return ()
    candidates = _candidates(rows)
    if not candidates:
        return ()
    others = turns_with(
        lake, _any_text(candidates) & ~pl.col("turn_id").is_in(rows["turn_id"].unique().implode())
    )
    if others.is_empty():
        return candidates
    return tuple(text for text in candidates if others.filter(_any_text([text])).is_empty())


def _candidates(rows: pl.DataFrame) -> tuple[str, ...]:
    step = max(1, rows.height * 2 * _SAMPLES_PER_TEXT // _MAX_SAMPLES)
    found: dict[str, None] = {}
    for row in rows.gather_every(step).iter_rows(named=True):
        for text in (row["user_text"], row["assistant_text"]):
            longest = sorted(_SAMPLE.findall(text or ""), key=len, reverse=True)
            found |= dict.fromkeys(piece.strip() for piece in longest[:_SAMPLES_PER_TEXT])
    return tuple(sorted(found))


def _condition(selection: ForgetSelection, groups: Collection[GroupId]) -> pl.Expr:
    conditions = [pl.col("group_id").is_in(sorted(groups))]
    if selection.session is not None:
        conditions.append(pl.col("session_id").str.starts_with(selection.session))
    if selection.text is not None:
        conditions.append(_any_text(spellings(selection.text)))
    return pl.all_horizontal(conditions)


def _any_text(texts: Sequence[str]) -> pl.Expr:
    columns = [
        holds_any(name, dtype, texts)
        for name, dtype in schema.TURNS.polars.items()
        if name not in _NO_TEXT
    ]
    return reduce(or_, columns)
