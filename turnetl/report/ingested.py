"""What an ingest did: a table, and the JSON that others script against."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from turnetl.ingest.plan import NO_TIME
from turnetl.ingest.report import GroupReport, IngestReport
from turnetl.report import standing

_SET_ASIDE = 3
"""Exit code: done, but turns were set aside."""


def table(report: IngestReport) -> RenderableType:
    """One row a group."""
    if not report.groups:
        return _caption(report)
    shown = Table(caption=_caption(report), caption_justify="left")
    shown.add_column("group")
    for name in ("turns", "new", "episodes", "entities", "facts"):
        shown.add_column(name, justify="right")
    shown.add_column("not in the graph, and why", overflow="fold")
    for of in report.groups:
        held = standing.held(of)
        shown.add_row(of.group, f"{of.turns:,}", f"{of.committed:,}", *held, standing.why_not(of))
    return shown


def as_json(report: IngestReport) -> dict[str, Any]:
    return {
        "run_id": report.run_id,
        "committed": report.committed,
        "skipped": report.skipped,
        "quarantined": report.quarantined,
        "pending": report.pending,
        "assumed_time": sum(of.assumed for of in report.groups),
        "groups": [_group_json(of) for of in report.groups],
        "error": report.error,
    }


def sentences(report: IngestReport) -> list[str]:
    """Why groups were not finished, and what was set aside."""
    whole = [report.error] if report.error else []
    return whole + [sentence for of in report.groups for sentence in standing.sentences(of)]


def exit_code(report: IngestReport) -> int:
    """A failure before a stop, a stop before turns that were set aside.

    It is a failure too if no turn is in the graph for want of a time.
    """
    codes = {report.exit_code, *(of.exit_code for of in report.groups)} - {0}
    if codes:
        return min(codes)
    timeless = _without_time(report)
    if timeless and timeless == report.pending and not (report.committed or report.skipped):
        return 1
    return _SET_ASIDE if report.quarantined else 0


def is_failure(code: int) -> bool:
    """Whether a person must act; turns that were set aside are no failure."""
    return code not in (0, _SET_ASIDE)


def _group_json(of: GroupReport) -> dict[str, Any]:
    return {
        **standing.as_json(of),
        "turns": of.turns,
        "committed": of.committed,
        "skipped": of.skipped,
    }


def _caption(report: IngestReport) -> str:
    if report.committed:
        return f"{report.committed:,} turns committed"
    if report.ready:
        return f"{report.ready:,} turns are ready for `turnetl ingest`"
    if timeless := _without_time(report):
        return f"{timeless:,} turns wait for a time"
    if report.error:
        return "nothing was ingested"
    if not report.groups:
        return "no turns yet: run `turnetl backfill ARCHIVES`"
    return "nothing new"


def _without_time(report: IngestReport) -> int:
    return sum(of.gaps.get(NO_TIME, 0) for of in report.groups)
