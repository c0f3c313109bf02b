"""Errors and what resolved them: the answer first, then where it comes from."""

from collections.abc import Iterator
from datetime import timedelta

from turnetl.base.text import format_minute, plural
from turnetl.pipeline.history import Fixes
from turnetl.retrieval.fix import ErrorHistory, Occurrence
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.views import search_hits
from turnetl.views.nodes import Caption, HangingIndent, Lines, Node, View, line
from turnetl.views.turns import fact_text, lineage, step_lineage

_NO_ERRORS = "no error in the graph matches; `turnetl search` finds turns by other words"
_TURNS = "no error in the graph matches; these are the turns that `turnetl search` finds:"


def view(report: Fixes) -> View:
    if not report.errors and report.turns:
        return [Caption(_TURNS), "", *search_hits.view(report.turns, "")]
    if not report.errors:
        return [Caption(_NO_ERRORS)]
    return [node for error in report.errors for node in _error(error)]


def _error(found: ErrorHistory) -> Iterator[Node]:
    count = f"  in {plural(found.count, 'turn')}" if found.count > 1 else ""
    yield line((found.error.name, "bold"), (f"  {found.error.group_id}{count}", "dim"))
    for occurrence in found.occurrences:
        yield Lines([*_occurrence(occurrence)], indent=4)
    yield ""


def _occurrence(found: Occurrence) -> Iterator[Node]:
    if found.resolved_at is None:
        yield line((f"{found.outcome}; the agent wrote:", "yellow"))
    else:
        when = f"{format_minute(found.resolved_at)}{_duration(found)}"
        yield line((f"{found.outcome} {when}", "green"))
    if found.answer:
        yield Lines([found.answer], indent=2)
    for fact in found.evidence:
        yield HangingIndent(line("· "), fact_text(fact))
    yield line(
        ("failed ", "dim"), (format_minute(found.fact.valid_at), "cyan"), " ", found.fact.text
    )
    yield from step_lineage(found.fact)
    yield from _turn("in ", found.turn)
    if found.resolved_by is not None and found.resolved_by != found.turn:
        yield from _turn("resolved in ", found.resolved_by)


def _turn(role: str, turn: TurnSummary) -> Iterator[Node]:
    yield line((role, "dim"), (turn.id, "bold"), f"  {turn.intent}")
    yield lineage(turn.receipt)


def _duration(found: Occurrence) -> str:
    if found.resolved_at is None or found.fact.valid_at is None:
        return ""
    taken = found.resolved_at - found.fact.valid_at
    if taken < timedelta(minutes=2):
        return f", {plural(round(taken.total_seconds()), 'second')} later"
    if taken < timedelta(hours=2):
        return f", {plural(round(taken / timedelta(minutes=1)), 'minute')} later"
    if taken < timedelta(days=2):
        return f", {plural(round(taken / timedelta(hours=1)), 'hour')} later"
    return f", {plural(taken.days, 'day')} later"
