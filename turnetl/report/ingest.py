"""What an ingest did: a table, and the JSON that others script against."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from turnetl.ingest.reasons import PendingReason
from turnetl.ingest.report import GroupReport, IngestReport
from turnetl.report import costs, status

_SET_ASIDE = 3
"""Exit code: done, but turns were set aside."""
_SHOWN = 3
"""Turns of a group that are told of."""


def table(report: IngestReport) -> RenderableType:
    """One row a group; then one a prompt, if a model was asked."""
    if not report.groups:
        return _caption(report)
    shown = Table(caption=_caption(report), caption_justify="left")
    shown.add_column("group")
    for name in ("turns", "new", "episodes", "entities", "facts"):
        shown.add_column(name, justify="right")
    shown.add_column("not in the graph, and why", overflow="fold")
    for of in report.groups:
        held = status.held(of)
        why = status.why_not(of) + _left_out(of)
        shown.add_row(of.group, f"{of.turns:,}", f"{of.committed:,}", *held, why)
    return Group(shown, costs.table(report.usage_by_prompt)) if report.usage_by_prompt else shown


def as_json(report: IngestReport) -> dict[str, Any]:
    return {
        "run_id": report.run_id,
        "committed": report.committed,
        "skipped": report.skipped,
        "quarantined": report.quarantined,
        "pending": report.pending,
        "assumed_time": sum(of.assumed_time for of in report.groups),
        "model": _model_json(report),
        "groups": [_group_json(of) for of in report.groups],
        "error": report.error,
    }


def sentences(report: IngestReport) -> list[str]:
    """What was set aside, what a person should look at, and why groups were not finished."""
    whole = [report.error] if report.error else []
    whole += [said for of in report.groups for said in status.of_group(of) + _retiring(of)]
    whole += status.stopped(report.groups)
    if costs.total(report.usage_by_prompt).cost is None:
        whole.append(costs.UNKNOWN)
    return whole


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
        **status.as_json(of),
        "turns": of.turns,
        "committed": of.committed,
        "skipped": of.skipped,
        "discarded": dict(of.discarded or {}),
        "invalidating": dict(of.invalidations or {}),
    }


def _model_json(report: IngestReport) -> dict[str, Any]:
    return {
        **costs.as_json(costs.total(report.usage_by_prompt)),
        "journaled": report.journal_hits,
        "by_prompt": {
            prompt: costs.as_json(usage) for prompt, usage in report.usage_by_prompt.items()
        },
    }


def _left_out(of: GroupReport) -> str:
    """Return a line for what nobody would look for."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in (of.discarded or {}).items())
    return f"\n(left out of turns: {reasons})" if reasons else ""


def _retiring(of: GroupReport) -> list[str]:
    """Say which turns retired so many facts that it may be a mistake, those with most first."""
    turns = sorted((of.invalidations or {}).items(), key=lambda turn: (-turn[1], turn[0]))
    told = [
        f"group `{of.group}`: turn {turn} retired {facts:,} facts; see whether it should have"
        for turn, facts in turns[:_SHOWN]
    ]
    if len(turns) > _SHOWN:
        told.append(f"and {len(turns) - _SHOWN:,} more of `{of.group}`; --json names them all")
    return told


def _caption(report: IngestReport) -> str:
    return "; ".join(filter(None, (_outcome(report), _used(report))))


def _used(report: IngestReport) -> str:
    """Return what a model was asked for, and what that cost."""
    used, said = costs.total(report.usage_by_prompt), []
    if used.calls:
        said.append(f"{used.calls:,} calls, {costs.tokens(used):,} tokens")
    if report.journal_hits:
        said.append(f"{report.journal_hits:,} answers from the journal")
    return f"{', '.join(said)}, cost: {costs.money(used.cost)}" if said else ""


def _outcome(report: IngestReport) -> str:
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
    return sum(of.uncommitted_reasons.get(PendingReason.NO_TIME, 0) for of in report.groups)
