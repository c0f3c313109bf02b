"""Decisions about summaries by reason, as text and as Markdown."""

from collections.abc import Iterable, Mapping

from turnetl.ingestion.report import GroupReport
from turnetl.summaries.reasons import GateReason, refreshed, skipped


def line(counts: Mapping[GateReason, int]) -> str:
    """Return how many summaries were written and kept, and why."""
    outcomes = (("written", refreshed(counts)), ("kept", skipped(counts)))
    return "; ".join(
        f"{sum(of_outcome.values()):,} {name}" + (f" ({_list(of_outcome)})" if of_outcome else "")
        for name, of_outcome in outcomes
    )


def markdown(groups: Iterable[GroupReport]) -> str:
    """Return a table with a row per group that has any; empty if none has."""
    rows = [
        f"| `{group.group}` | {_list(refreshed(counts)) or 0} | {_list(skipped(counts)) or 0} |"
        for group in groups
        if (counts := group.summaries)
    ]
    return "\n".join([*_HEAD, *rows]) if rows else ""


_HEAD = ("| group | summary_refreshed | summary_skipped |", "|---|---|---|")


def _list(counts: Mapping[GateReason, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
