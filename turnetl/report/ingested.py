"""How groups stand in the graph: a table, and the JSON that others script against."""

from collections.abc import Sequence
from typing import Any, Protocol

from rich.table import Table

from turnetl.ingest.group import GroupReport

FAILURES = (1, 2, 4)
"""Exit codes after which a person must act; 3 only set turns aside."""


class Report(Protocol):
    """See `app.IngestReport`."""

    @property
    def run_id(self) -> str | None: ...
    @property
    def groups(self) -> Sequence[GroupReport]: ...
    @property
    def committed(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def quarantined(self) -> int: ...
    @property
    def pending(self) -> int: ...
    @property
    def questions(self) -> Sequence[str]: ...


def table(report: Report) -> Table:
    """One row a group."""
    shown = Table(caption=_caption(report), caption_justify="left")
    shown.add_column("group")
    for name in ("turns", "new", "episodes", "entities", "facts"):
        shown.add_column(name, justify="right")
    shown.add_column("not in the graph, and why")
    for group in report.groups:
        shown.add_row(
            group.group,
            f"{group.turns:,}",
            f"{group.committed:,}",
            f"{group.episodes:,}",
            f"{group.entities:,}",
            f"{group.facts:,}",
            _why(group),
        )
    return shown


def as_json(report: Report) -> dict[str, Any]:
    return {
        "run_id": report.run_id,
        "committed": report.committed,
        "skipped": report.skipped,
        "quarantined": report.quarantined,
        "pending": report.pending,
        "groups": [_group_json(group) for group in report.groups],
    }


def sentences(report: Report) -> list[str]:
    """Why groups were not finished, a sentence each."""
    return [f"group `{group.group}`: {group.error}" for group in report.groups if group.error]


def exit_code(report: Report) -> int:
    """The worst that happened to a group: failed before stopped before quarantined."""
    codes = [group.exit_code for group in report.groups if group.exit_code]
    if codes:
        return min(codes)
    return 3 if report.quarantined else 0


def _group_json(group: GroupReport) -> dict[str, Any]:
    return {
        "group": group.group,
        "turns": group.turns,
        "committed": group.committed,
        "skipped": group.skipped,
        "quarantined": group.quarantined,
        "pending": group.pending,
        "gaps": dict(group.waiting),
        "noise": dict(group.noise),
        "stale": group.stale,
        "episodes": group.episodes,
        "entities": group.entities,
        "facts": group.facts,
        "error": group.error,
    }


def _why(group: GroupReport) -> str:
    reasons = {
        **{f"noise: {name}": count for name, count in group.noise.items()},
        **group.waiting,
        **({"quarantined": group.quarantined} if group.quarantined else {}),
    }
    lines = [f"{count} {name}" for name, count in reasons.items()]
    if group.stale:
        lines.append(f"({group.stale} stale)")
    if group.error:
        lines.append("[red]stopped[/red]")
    return "\n".join(lines) or "-"


def _caption(report: Report) -> str:
    if not report.groups:
        return "no turns yet: run `turnetl backfill ARCHIVES`"
    if not report.committed:
        return "nothing new"
    return f"{report.committed:,} turns committed"
