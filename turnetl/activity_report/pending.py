"""Turns that are not in the graph or that a run would commit differently today, and noise."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from turnetl.activity_report import model
from turnetl.activity_report.model import (
    NoiseOfRule,
    PendingTurns,
    QuarantinedTurn,
    ReportedTurn,
    TurnsOfReason,
    listed,
)
from turnetl.activity_report.turns import TurnBook, reported
from turnetl.base.model import GroupId, TurnId
from turnetl.base.reason import R
from turnetl.graph.migrations import migration_message
from turnetl.ingestion.ingest_report import error_messages, stale_part_line
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.status_report import GroupStatus


@dataclass(frozen=True, slots=True)
class GroupGaps:
    """The turns of a group that need somebody's attention."""

    group: GroupId
    uncommitted: Mapping[PendingReason, Sequence[TurnId]]
    stale: Mapping[StaleReason, Sequence[TurnId]]
    quarantined: Sequence[QuarantineEntry]


def pending_turns(
    groups: Sequence[GroupGaps],
    rows: pl.DataFrame,
    book: TurnBook,
    *,
    is_ranged: bool = False,
    statuses: Sequence[GroupStatus] = (),
) -> PendingTurns:
    """Return the turns that need attention, by reason.

    A quarantined turn that the lake has lost has no time: a report of a range leaves it out.
    """
    selected = frozenset(rows["turn_id"].to_list())
    entries = [
        (entry, group.group)
        for group in groups
        for entry in group.quarantined
        if entry.turn_id in selected or (not is_ranged and book.find(entry.turn_id) is None)
    ]
    unfiltered = rows.filter(~pl.col("is_filtered"), ~pl.col("is_in_graph"))["turn_id"].to_list()
    gaps = _merged(group.uncommitted for group in groups)
    gaps.pop(PendingReason.QUARANTINED, None)
    gaps.setdefault(PendingReason.UNFILTERED, []).extend(map(TurnId, unfiltered))
    stale = _merged(group.stale for group in groups)
    return PendingTurns(
        quarantined=listed([_quarantined(*one, book) for one in entries], model.QUARANTINED),
        gaps=_by_reason(gaps, selected, book),
        stale=_by_reason(stale, selected, book),
        stale_parts=tuple(
            f"{group.group}: {stale_part_line(part).strip('()')}"
            for group in statuses
            for part in group.stale_parts
        ),
        missing_archives=listed(
            sorted({name for group in statuses for name in group.missing_archives}), model.ARCHIVES
        ),
        messages=(
            *error_messages(statuses),
            *(migration_message(group.migration) for group in statuses if group.migration),
        ),
    )


def _merged(groups: Iterable[Mapping[R, Sequence[TurnId]]]) -> dict[R, list[TurnId]]:
    merged: dict[R, list[TurnId]] = {}
    for of_group in groups:
        for reason, turns in of_group.items():
            merged.setdefault(reason, []).extend(turns)
    return merged


def _by_reason(
    by_reason: Mapping[R, Sequence[TurnId]], selected: Collection[str], book: TurnBook
) -> tuple[TurnsOfReason, ...]:
    found = []
    for reason, turns in by_reason.items():
        known = book.found(turn for turn in turns if turn in selected)
        if known:
            newest = listed(known[::-1], model.TURNS_OF_REASON)
            found.append(TurnsOfReason(reason.value, reason.sentence, newest))
    return tuple(sorted(found, key=lambda one: -one.turns.total))


def _quarantined(entry: QuarantineEntry, group: GroupId, book: TurnBook) -> QuarantinedTurn:
    turn = book.find(entry.turn_id) or ReportedTurn(
        turn_id=entry.turn_id,
        group=group,
        session_id="",
        title="",
        started_at=None,
        archive=entry.archive,
        first_line=entry.first_line,
        last_line=entry.first_line,
    )
    return QuarantinedTurn(turn, entry.error, entry.failed_at)


def noise_counts(rows: pl.DataFrame, descriptions: Mapping[str, str]) -> tuple[NoiseOfRule, ...]:
    """Return the noise of rows of `turns.ROWS`, oldest first, the rule of most turns first."""
    marked = rows.filter(pl.col("noise").is_not_null())
    counts = marked["noise"].value_counts().sort(["count", "noise"], descending=[True, False])
    return tuple(
        NoiseOfRule(rule, descriptions.get(rule, ""), turns, _examples(marked, rule))
        for rule, turns in counts.iter_rows()
    )


def _examples(marked: pl.DataFrame, rule: str) -> tuple[ReportedTurn, ...]:
    """Return the newest turns of a rule with different prompts."""
    of_rule = marked.filter(pl.col("noise") == rule).reverse()
    different = of_rule.unique("prompt", keep="first", maintain_order=True)
    rows = different.head(model.NOISE_EXAMPLES).iter_rows(named=True)
    return tuple(map(reported, rows))
