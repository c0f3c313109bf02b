"""The turns of a report: one row each, from the lake, and from the graph what the lake has lost."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import polars as pl

from turnetl.activity_report import model
from turnetl.activity_report.model import (
    ReportedFact,
    ReportedTurn,
    ReportTimeline,
    TimelineDay,
    TimelineSession,
    TimelineTurn,
)
from turnetl.base import schema
from turnetl.base.errors import Fatal
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId
from turnetl.episode_text.conversation import Conversation, TextSource
from turnetl.episode_text.intents import intent
from turnetl.lake import Lake


def timeline_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the last turns that have a time and are not noise, oldest first."""
    return _kept(rows).tail(model.TIMELINE_TURNS)


def timeline(
    rows: pl.DataFrame,
    decisions: Mapping[str, Sequence[ReportedFact]],
    problems: Mapping[str, int],
) -> ReportTimeline:
    """Return the last turns, the newest day first; `rows` of `turns.ROWS` are oldest first."""
    shown = timeline_rows(rows)
    by_day = groupby(shown.iter_rows(named=True), key=lambda row: row["started_at"].date())
    days = []
    for day, of_day in by_day:
        sessions: dict[tuple[str, str], list[TimelineTurn]] = {}
        for row in of_day:
            turn = TimelineTurn(
                reported(row),
                tuple(decisions.get(row["turn_id"], ())),
                problems.get(row["turn_id"], 0),
            )
            sessions.setdefault((row["group_id"], row["session_id"]), []).append(turn)
        of_sessions = (
            TimelineSession(session, group, tuple(turns))
            for (group, session), turns in sessions.items()
        )
        days.append(TimelineDay(day, tuple(of_sessions)))
    return ReportTimeline(tuple(reversed(days)), shown.height, _kept(rows).height)


def _kept(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("noise").is_null(), pl.col("started_at").is_not_null())


_NAMES = (
    *("turn_id", "group_id", "format", "session_id", "agent_id", "started_at", "model"),
    *(*schema.TOKEN_COUNTS, "usage", "archive", "first_line", "last_line"),
)
_TYPES = {column.name: column.dtype for column in schema.TURNS.columns}
ROWS = pl.Schema(
    {name: _TYPES[name] for name in _NAMES}
    | {
        "prompt": pl.String,
        "before": pl.String,
        "noise": pl.String,
        "is_filtered": pl.Boolean,
        "is_in_lake": pl.Boolean,
        "is_in_graph": pl.Boolean,
    }
)
"""The columns of the rows. `prompt` is the beginning of what the user wrote; `before` that of the
turn before it in its session, null unless the prompt is short. `is_filtered` says whether an
episodes table has the turn, so that it is known whether it is noise."""


def read_lake(
    lake: Lake,
    groups: Iterable[GroupId],
    unfiltered: Collection[GroupId],
    on_damaged: Callable[[GroupId, str], None],
) -> pl.DataFrame:
    """Return the turns of groups as rows of `ROWS`, none of them in the graph yet.

    Args:
        unfiltered: those of them whose turns files may hold turns that no episodes table has.
        on_damaged: called with the group and the error of a table that cannot be read; its turns
            are left out.
    """
    frames = [ROWS.to_frame(eager=True)]
    for group in groups:
        try:
            frames += _group_rows(lake, group, is_unfiltered=group in unfiltered)
        except Fatal as error:
            on_damaged(group, str(error))
    return pl.concat(frames)


def lost_receipts(rows: pl.DataFrame, receipts: Iterable[Receipt]) -> list[Receipt]:
    """Return the receipts of turns that the lake has lost: no row has their id."""
    known = frozenset(rows["turn_id"].to_list())
    return [receipt for receipt in receipts if receipt.turn_id not in known]


def with_receipts(
    rows: pl.DataFrame, receipts: Collection[Receipt], prompts: Mapping[str, str]
) -> pl.DataFrame:
    """Return rows of `read_lake` with what the graph holds; `prompts`: of turns only there."""
    committed = [receipt.turn_id for receipt in receipts]
    marked = rows.with_columns(is_in_graph=pl.col("turn_id").is_in(committed))
    lost = [
        _receipt_row(receipt, prompts.get(receipt.turn_id, ""))
        for receipt in lost_receipts(rows, receipts)
    ]
    return pl.concat([marked, pl.DataFrame(lost, schema=ROWS)]).sort(
        "started_at", "session_id", "turn_id", nulls_last=True
    )


def in_range(rows: pl.DataFrame, since: datetime | None, until: datetime | None) -> pl.DataFrame:
    """Return the rows that started in a range of time; with one, those without a time are not."""
    started = pl.col("started_at")
    if since is not None:
        rows = rows.filter(started >= since)
    return rows.filter(started < until) if until is not None else rows


class TurnBook:
    """The turns of a report by their ids."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows = rows
        self._places = {turn: place for place, turn in enumerate(rows["turn_id"].to_list())}

    def find(self, turn_id: str) -> ReportedTurn | None:
        """Return the turn; None if it is not one of the report's groups."""
        place = self._places.get(turn_id)
        return None if place is None else reported(self._rows.row(place, named=True))

    def found(self, turn_ids: Iterable[str]) -> list[ReportedTurn]:
        """Return the turns that are known, in the order given."""
        turns = map(self.find, turn_ids)
        return [turn for turn in turns if turn is not None]


def reported(row: Mapping[str, Any]) -> ReportedTurn:
    return ReportedTurn(
        turn_id=row["turn_id"],
        group=row["group_id"],
        session_id=row["session_id"],
        title=intent(_prompted(row["prompt"]), _prompted(row["before"] or "")),
        started_at=row["started_at"],
        archive=row["archive"],
        first_line=row["first_line"],
        last_line=row["last_line"],
    )


def _prompted(prompt: str) -> Conversation:
    return Conversation(TextSource.LAKE, prompt, (), (), "", None)


def _group_rows(lake: Lake, group: GroupId, *, is_unfiltered: bool) -> list[pl.DataFrame]:
    with lake.reading_episodes(group):
        episodes = _selected(lake.scan_episodes(group), pl.col("noise"), is_filtered=True)
    if not is_unfiltered:
        return [episodes]
    turns = _selected(lake.scan_turns(group), pl.lit(None, pl.String), is_filtered=False)
    new = ~pl.col("turn_id").is_in(episodes["turn_id"].to_list())
    return [episodes, turns.unique("turn_id", keep="first", maintain_order=True).filter(new)]


def _selected(rows: pl.LazyFrame, noise: pl.Expr, *, is_filtered: bool) -> pl.DataFrame:
    prompt = pl.col("user_text").str.head(model.PROMPT_CHARS)
    is_short = pl.col("user_text").str.len_bytes() <= model.SHORT_PROMPT_BYTES
    return rows.select(
        *_NAMES,
        prompt.alias("prompt"),
        pl.when(is_short).then(prompt.shift(1).over("session_id")).alias("before"),
        noise.alias("noise"),
        pl.lit(is_filtered).alias("is_filtered"),
        pl.lit(value=True).alias("is_in_lake"),
        pl.lit(value=False).alias("is_in_graph"),
    ).collect()


def _receipt_row(receipt: Receipt, prompt: str) -> dict[str, Any]:
    row = {name: getattr(receipt, name, None) for name in _NAMES}
    # The model of a receipt is the one that turnetl used, not the agent's.
    return row | {
        "model": None,
        "input_tokens": 0,
        "output_tokens": 0,
        "usage": None,
        # A table takes no halves of characters.
        "prompt": prompt.encode("utf-8", "replace").decode(),
        "before": None,
        "noise": None,
        "is_filtered": True,
        "is_in_lake": False,
        "is_in_graph": True,
    }
