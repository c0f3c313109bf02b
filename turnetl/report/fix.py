"""Errors and what resolved them: the answer first, then where it comes from."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from turnetl.base.text import format_minute, plural
from turnetl.report import search_hits
from turnetl.report.layout import caption, hanging, indented
from turnetl.report.turns import fact_text, lineage
from turnetl.retrieval.fix import ErrorHistory, Occurrence
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.turn_summary import TurnSummary

_NO_ERRORS = "no error in the graph matches; `turnetl search` finds turns by other words"
_TURNS = "no error in the graph matches; these are the turns that `turnetl search` finds:"
_UNRESOLVED = "no later success is known; the agent wrote:"


def view(found: Sequence[ErrorHistory], turns: Sequence[SearchHit], directory: Path) -> Group:
    """Render each error with its occurrences, or the turns that a search found instead.

    Args:
        found: best match first.
        turns: best first.
        directory: paths below it are printed relative to it.
    """
    if not found and turns:
        return Group(caption(_TURNS), Text(), search_hits.table(turns, "", directory))
    if not found:
        return Group(caption(_NO_ERRORS))
    return Group(*(line for error in found for line in _error(error, directory)))


def _error(found: ErrorHistory, directory: Path) -> Iterator[RenderableType]:
    count = f"  in {plural(found.count, 'turn')}" if found.count > 1 else ""
    yield Text.assemble((found.error.name, "bold"), (f"  {found.error.group_id}{count}", "dim"))
    for occurrence in found.occurrences:
        for line in _occurrence(occurrence, directory):
            yield indented(line)
    yield Text()


def _occurrence(found: Occurrence, directory: Path) -> Iterator[RenderableType]:
    if found.resolved_at is None:
        yield Text(_UNRESOLVED, "yellow")
    else:
        yield Text(f"resolved {format_minute(found.resolved_at)}{_duration(found)}", "green")
    if found.answer:
        yield indented(Text(found.answer), 2)
    for fact in found.evidence:
        yield hanging(Text("· "), fact_text(fact))
    yield Text.assemble(
        ("failed ", "dim"), (format_minute(found.fact.valid_at), "cyan"), " ", found.fact.text
    )
    yield from _turn("in ", found.turn, directory)
    if found.resolved_by is not None and found.resolved_by != found.turn:
        yield from _turn("resolved in ", found.resolved_by, directory)


def _turn(role: str, turn: TurnSummary, directory: Path) -> Iterator[RenderableType]:
    yield Text.assemble((role, "dim"), (turn.id, "bold"), f"  {turn.prompt}")
    yield lineage(turn.receipt, directory)


def _duration(found: Occurrence) -> str:
    """Return how long it took, if it is known."""
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
