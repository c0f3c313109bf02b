"""The report of an ingest."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.text import format_cost, plural
from turnetl.ingestion.reasons import PendingReason
from turnetl.ingestion.report import (
    GroupReport,
    IngestReport,
    error_messages,
    lacks_times,
    turns_without_time,
)
from turnetl.report import costs, estimates, request_previews, status
from turnetl.report import layout as md
from turnetl.report.layout import add_group_column, caption

_LISTED_IN_MARKDOWN = 50
_LISTED = 3
"""Turns of a group that a message lists; --json has all."""


def table(report: IngestReport) -> RenderableType:
    """Render a row per group; then a row per prompt that was used; then requests of a dry run."""
    if not report.groups:
        return caption(_summary(report))
    view = Table()
    add_group_column(view)
    for name in ("turns", "new", "episodes", "entities", "facts"):
        view.add_column(name, justify="right")
    view.add_column("not in the graph, and why", overflow="fold")
    for group in report.groups:
        reasons = [*status.uncommitted_lines(group), *_discarded_lines(group)]
        view.add_row(
            Text(group.group),
            f"{group.turns:,}",
            f"{group.committed:,}",
            *status.graph_counts(group),
            status.reasons_cell(reasons),
        )
    parts: list[RenderableType] = [view, caption(_summary(report))]
    if report.usage_by_prompt:
        parts.append(costs.table(report.usage_by_prompt))
    if report.estimate is not None:
        parts += estimates.compared(report.estimate, report.usage_by_prompt)
    if report.requests is not None:
        parts.append(request_previews.text(report.requests))
    return Group(*parts)


def markdown(report: IngestReport) -> str:
    """Return a row per group, a row per prompt, the quarantined turns, and what failed."""
    rows = [
        (
            group.group,
            f"{group.turns:,}",
            f"{group.committed:,}",
            *status.graph_counts(group),
            "; ".join([*status.uncommitted_lines(group), *_discarded_lines(group)]) or "-",
        )
        for group in report.groups
    ]
    sentences = [*errors(report), *(text for one in report.groups for text in _alerts(one))]
    return md.sections(
        f"{_summary(report)}.",
        md.table(_MARKDOWN, rows) if rows else "",
        costs.markdown(report.usage_by_prompt),
        _quarantined_markdown(report),
        md.bullets(sentences),
        f"`turnetl runs show {report.run_id}` prints this run." if report.run_id else "",
    )


def messages(report: IngestReport) -> list[str]:
    """Return sentences about what failed, and about what the user should check."""
    sentences: list[str] = []
    for group in report.groups:
        sentences += status.group_messages(group) + _invalidation_messages(group)
    sentences += [error for error in errors(report) if error not in sentences]
    if costs.total(report.usage_by_prompt).cost is None:
        sentences.append(costs.UNKNOWN)
    return sentences


def errors(report: IngestReport) -> list[str]:
    """Return why the run failed, in one sentence each; empty if it did not."""
    first = [report.error] if report.error else []
    return first + error_messages(report.groups) + _no_time_errors(report)


_MARKDOWN = ("group", "turns", "new", "episodes", "entities", "facts", "not in the graph, and why")


def _quarantined_markdown(report: IngestReport) -> str:
    entries = [(group.group, entry) for group in report.groups for entry in group.quarantined_turns]
    if not entries:
        return ""
    rows = [
        (group, f"{entry.archive}:{entry.first_line}", entry.error)
        for group, entry in entries[:_LISTED_IN_MARKDOWN]
    ]
    more = len(entries) - len(rows)
    return md.sections(
        "## Quarantined turns",
        md.table(("group", "turn", "reason"), rows),
        f"And {more:,} more: `turnetl status --json` lists all." if more else "",
    )


def _alerts(group: GroupReport) -> list[str]:
    no_time = group.uncommitted_reasons.get(PendingReason.NO_TIME)
    return [*([status.no_time_message(group)] if no_time else []), *_invalidation_messages(group)]


def _discarded_lines(group: GroupReport) -> list[str]:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in group.discarded.items())
    return [f"(discarded from turns: {reasons})"] if reasons else []


def _invalidation_messages(group: GroupReport) -> list[str]:
    """Return the turns that invalidated suspiciously many facts, most first."""
    turns = sorted(
        group.invalidations, key=lambda turn: (-turn.facts, turn.archive, turn.first_line)
    )
    sentences = [
        f"turn {turn.archive}:{turn.first_line} of group `{group.group}` invalidated "
        f"{turn.facts:,} facts; check whether it is right"
        for turn in turns[:_LISTED]
    ]
    if len(turns) > _LISTED:
        more = len(turns) - _LISTED
        sentences.append(f"and {plural(more, 'more turn')} of `{group.group}`; --json lists all")
    return sentences


def _summary(report: IngestReport) -> str:
    return "; ".join(filter(None, (_outcome(report), _usage(report))))


def _usage(report: IngestReport) -> str:
    """Return what the models were used for, and what that cost."""
    usage, parts = costs.total(report.usage_by_prompt), []
    if usage.calls:
        parts.append(f"{plural(usage.calls, 'call')}, {plural(usage.tokens, 'token')}")
    if share := costs.cached_share(usage):
        parts.append(f"{share:.0%} of the prompt tokens from the provider's cache")
    if report.journal_hits:
        parts.append(f"{plural(report.journal_hits, 'response')} from the journal")
    if report.cost is not None and report.cost.unused_tokens:
        parts.append(
            f"{plural(report.cost.unused_tokens, 'token')} for requests ahead that none needed"
        )
    return f"{', '.join(parts)}, cost: {format_cost(usage.cost)}" if parts else ""


def _outcome(report: IngestReport) -> str:
    if report.committed:
        return f"{plural(report.committed, 'turn')} committed"
    if report.ready:
        return f"{plural(report.ready, 'turn is', 'turns are')} ready for `turnetl ingest`"
    if without_time := turns_without_time(report):
        return f"{plural(without_time, 'turn has', 'turns have')} no time"
    if report.error:
        return "nothing was ingested"
    return "nothing new" if report.groups else _without_groups(report)


def _without_groups(report: IngestReport) -> str:
    if report.is_shard:
        return "no group belongs to this shard"
    return "no turns yet: run `turnetl backfill ARCHIVES`"


def _no_time_errors(report: IngestReport) -> list[str]:
    """Return why no turn can be ingested, if that is because none has a time."""
    if not lacks_times(report):
        return []
    return [
        status.no_time_message(group)
        for group in report.groups
        if group.uncommitted_reasons.get(PendingReason.NO_TIME)
    ]
