"""How groups stand in the graph, and why the rest of their turns is not there."""

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from turnetl.ingest.reasons import PendingReason
from turnetl.ingest.report import GroupReport, IngestReport
from turnetl.model import Usage
from turnetl.report import costs

_SHOWN = 3
"""Set-aside turns of a group that are told of; --json names them all."""


def table(report: IngestReport) -> RenderableType:
    """One row a group: what is in the graph, what waits, and why; what it cost, if it did."""
    if not report.groups:
        return _caption(report)
    shown = Table(caption=_caption(report), caption_justify="left")
    shown.add_column("group")
    for name in ("turns", "committed", "pending", "entities", "facts"):
        shown.add_column(name, justify="right")
    shown.add_column("not in the graph, and why", overflow="fold")
    for of in report.groups:
        counts = (
            f"{of.turns + of.missing_from_lake:,}",
            f"{of.in_graph + of.missing_from_lake:,}",
            f"{of.pending:,}",
        )
        shown.add_row(of.group, *counts, *held(of)[1:], why_not(of) + _cost(of))
    return shown


def all_json(report: IngestReport) -> dict[str, Any]:
    """Return the keys that others script against: here `committed` is all that the graph holds."""
    return {
        "committed": sum(of.in_graph + of.missing_from_lake for of in report.groups),
        "quarantined": report.quarantined,
        "pending": report.pending,
        "assumed_time": sum(of.assumed_time for of in report.groups),
        "usage": costs.as_json(sum((_spent(of) for of in report.groups), Usage())),
        "groups": [_whole_json(of) for of in report.groups],
    }


def _whole_json(of: GroupReport) -> dict[str, Any]:
    return {
        **as_json(of),
        "missing_archives": list(of.missing_archives),
        "usage": costs.as_json(_spent(of)),
    }


def as_json(of: GroupReport) -> dict[str, Any]:
    holds = of.counts
    return {
        "group": of.group,
        "turns": of.turns + of.missing_from_lake,
        "committed": of.in_graph + of.missing_from_lake,
        "pending": of.pending,
        "quarantined": of.quarantined,
        "pending_reasons": of.uncommitted_reasons,
        "noise": dict(of.noise or {}),
        "stale": of.stale,
        "stale_reasons": dict(of.stale_reasons or {}),
        "missing_from_lake": of.missing_from_lake,
        "assumed_time": of.assumed_time,
        "episodes": holds and holds.episodes,
        "entities": holds and holds.entities,
        "facts": holds and holds.facts,
        "quarantined_turns": [
            {
                "turn_id": entry.turn_id,
                "reason": entry.reason,
                "archive": entry.archive,
                "first_line": entry.first_line,
            }
            for entry in of.quarantined_turns
        ],
        "error": of.error,
    }


def _spent(of: GroupReport) -> Usage:
    return of.usage or Usage()


def _cost(of: GroupReport) -> str:
    """Return a line for what a model was asked for, if one was."""
    used = _spent(of)
    if not used.calls:
        return ""
    return f"\n(cost so far: {costs.money(used.cost)}, {costs.tokens(used):,} tokens)"


def held(of: GroupReport) -> tuple[str, str, str]:
    """Return episodes, entities and facts as they are shown."""
    if of.counts is None:
        return "?", "?", "?"
    return f"{of.counts.episodes:,}", f"{of.counts.entities:,}", f"{of.counts.facts:,}"


def why_not(of: GroupReport) -> str:
    """Return a line a reason."""
    reasons: dict[str, int] = {f"noise: {name}": n for name, n in (of.noise or {}).items()}
    reasons |= {reason.value: count for reason, count in of.uncommitted_reasons.items()}
    lines = [f"{count:,} {name}" for name, count in reasons.items()]
    if of.stale:
        lines.append(f"({of.stale:,} stale, not done again: {_stale(of)})")
    if of.missing_from_lake:
        lines.append(f"({of.missing_from_lake:,} gone from the lake)")
    if of.assumed_time:
        lines.append(f"(assumed time: {of.assumed_time:,})")
    if of.missing_archives:
        lines.append(f"(archive gone: {len(of.missing_archives):,}; turns stay)")
    if of.error:
        lines.append("[red]stopped[/red]")
    return "\n".join(lines) or "-"


def _stale(of: GroupReport) -> str:
    why = (of.stale_reasons or {}).items()
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in why)


def sentences(report: IngestReport) -> list[str]:
    """Which turns were set aside, which have no time, and why groups were not finished."""
    return [said for of in report.groups for said in of_group(of)] + stopped(report.groups)


def of_group(of: GroupReport) -> list[str]:
    """Which turns were set aside, and which have no time."""
    said = [
        f"{_place(entry.archive, entry.first_line)}{entry.reason}" for entry in of.quarantined_turns
    ]
    told = [f"turn set aside: {reason}" for reason in said[:_SHOWN]]
    if len(said) > _SHOWN:
        told.append(f"and {len(said) - _SHOWN:,} more of `{of.group}`; --json names them all")
    if of.uncommitted_reasons.get(PendingReason.NO_TIME):
        told.append(without_time(of))
    return told


def stopped(groups: Sequence[GroupReport]) -> list[str]:
    """Why groups were not finished, those together that have the same reason."""
    names: dict[str, list[str]] = {}
    for of in groups:
        if of.error:
            names.setdefault(of.error, []).append(f"`{of.group}`")
    return [_because(reason, names[reason]) for reason in names]


def _because(reason: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return reason if names[0] in reason else f"group {names[0]}: {reason}"
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"groups {', '.join(names[:_SHOWN])}{more}: {reason}"


def without_time(of: GroupReport) -> str:
    """Say how many turns wait for a time, and how to give them one."""
    number = of.uncommitted_reasons[PendingReason.NO_TIME]
    wait = "turn has no time and waits" if number == 1 else "turns have no time and wait"
    return (
        f"group `{of.group}`: {number:,} {wait}; give {'it' if number == 1 else 'them'} one with "
        "--assume-time, an ISO time or `mtime`"
    )


def _place(archive: str, line: int) -> str:
    return f"{archive}:{line}: "


def _caption(report: IngestReport) -> str:
    if not report.groups:
        return "no turns yet: run `turnetl backfill ARCHIVES`"
    if report.ready:
        return f"{report.ready:,} turns are ready for `turnetl ingest`"
    return (
        "nothing is ready; what waits, and why, stands above" if report.pending else "nothing waits"
    )
