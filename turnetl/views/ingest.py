"""The report of an ingest, and the requests that it would send."""

from collections import Counter
from collections.abc import Iterator, Sequence

from turnetl.base.text import format_cost, plural
from turnetl.extraction.port import RequestPreview
from turnetl.ingestion.ingest_report import (
    GroupReport,
    IngestReport,
    StopCause,
    error_messages,
    lacks_times,
)
from turnetl.ingestion.reasons import PendingReason
from turnetl.views import costs, status
from turnetl.views.nodes import (
    Caption,
    Column,
    Lines,
    Node,
    PageOnly,
    Section,
    Table,
    View,
    counted,
    line,
    numbers,
    tally,
    unwrapped,
)

_LISTED_ON_A_PAGE = 50
_RULE = "─" * 80
_LISTED = 3
"""Turns of a group that a message lists; --json has all."""

_COLUMNS = (
    Column("group"),
    *numbers("turns", "new", "episodes", "entities", "facts"),
    Column("not in the graph, and why"),
)


def view(report: IngestReport) -> View:
    """Return a row per group and per prompt; a page also has the quarantined turns and errors."""
    shown = [group for group in report.groups if _has_news(group)]
    rows = [
        (
            group.group,
            *counted((group.turns, group.committed)),
            *status.graph_counts(group),
            status.reasons_cell([*status.uncommitted_lines(group), *_discarded_lines(group)]),
        )
        for group in shown
    ]
    return [
        *([Table(_COLUMNS, rows)] if rows else []),
        *(_rest(report.groups, shown) if shown else []),
        Caption(_summary(report)),
        *costs.view(report.usage_by_prompt),
        *costs.compared(report.estimate, report.usage_by_prompt),
        *_beside(report),
    ]


def _has_news(group: GroupReport) -> bool:
    """Return whether anything happened to a group, or something of it is to be done."""
    done = group.committed or group.ready or group.quarantined or group.discarded or group.error
    return bool(done or group.stale or group.missing_from_lake or group.unjoined_archives)


def _rest(groups: Sequence[GroupReport], shown: Sequence[GroupReport]) -> View:
    """Return why turns of groups without a row are not in the graph, in one line."""
    counts = _uncommitted([group for group in groups if group not in shown])
    return [f"of other groups not in the graph: {counts}"] if counts else []


def _uncommitted(groups: Sequence[GroupReport]) -> str:
    """Return why turns are not in the graph, the reason of most first; "" if all are."""
    reasons = Counter({"noise": sum(sum(group.noise.values()) for group in groups)})
    for group in groups:
        reasons.update(status.in_words(group.uncommitted_reasons))
    return tally((+reasons).most_common())


def previews(requests: Sequence[RequestPreview] | None) -> View:
    """Return every message of every request as the model would receive it."""
    if requests is None:
        return []
    if not requests:
        return ["No request would be sent."]
    lines = [node for preview in requests for node in _preview(preview)]
    return [*lines, _previews_summary(requests)]


def messages(report: IngestReport) -> list[str]:
    sentences = status.messages_of_all(report.groups)
    for group in report.groups:
        sentences += _invalidation_messages(group)
    sentences += [error for error in errors(report) if error not in sentences]
    if costs.total(report.usage_by_prompt).cost is None:
        sentences.append(costs.UNKNOWN)
    return sentences


def errors(report: IngestReport) -> list[str]:
    """Return why the run failed, in one sentence each; empty if it did not."""
    first = [report.error] if report.error else []
    return first + error_messages(report.groups) + _no_time_errors(report)


def is_budget_stop(report: IngestReport) -> bool:
    """Return whether the budget ended the work on groups, and nothing else failed there."""
    causes = {group.stop_cause for group in report.groups if group.error}
    return causes == {StopCause.BUDGET}


def _beside(report: IngestReport) -> View:
    sentences = [*errors(report), *(text for one in report.groups for text in _alerts(one))]
    run = f"`turnetl runs show {report.run_id}` prints this run." if report.run_id else ""
    lines = [Lines(sentences)] if sentences else []
    return [PageOnly([*_quarantined(report), *lines, run])]


def _quarantined(report: IngestReport) -> View:
    entries = [(group.group, entry) for group in report.groups for entry in group.quarantined_turns]
    if not entries:
        return []
    rows = [
        (group, f"{entry.archive}:{entry.first_line}", entry.error)
        for group, entry in entries[:_LISTED_ON_A_PAGE]
    ]
    more = len(entries) - len(rows)
    rest = f"And {more:,} more: `turnetl status --json` lists all." if more else ""
    table = Table([*map(Column, ("group", "turn", "reason"))], rows)
    return [Section("Quarantined turns", [table, rest])]


def _alerts(group: GroupReport) -> list[str]:
    no_time = group.uncommitted_reasons.get(PendingReason.NO_TIME)
    return [
        *([status.no_time_message(group)] if no_time else []),
        *status.held_messages(group),
        *_invalidation_messages(group),
    ]


def _discarded_lines(group: GroupReport) -> list[str]:
    return [f"(discarded from turns: {tally(group.discarded.items())})"] if group.discarded else []


def _invalidation_messages(group: GroupReport) -> list[str]:
    """Return the turns that invalidated suspiciously many facts, most first."""
    many = (turn for turn in group.invalidations if not turn.held)
    turns = sorted(many, key=lambda turn: (-turn.facts, turn.archive, turn.first_line))
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
    if report.error:
        return "nothing was ingested"
    if report.groups:
        in_graph, rest = plural(report.already_committed, "turn"), _uncommitted(report.groups)
        return f"nothing new: {in_graph} in the graph{f'; not in it: {rest}' if rest else ''}"
    return _without_groups(report)


def _without_groups(report: IngestReport) -> str:
    if report.is_shard:
        return "no group belongs to this shard"
    return "no turns yet: run `turnetl backfill`"


def _no_time_errors(report: IngestReport) -> list[str]:
    if not lacks_times(report):
        return []
    return [
        status.no_time_message(group)
        for group in report.groups
        if group.uncommitted_reasons.get(PendingReason.NO_TIME)
    ]


def _preview(preview: RequestPreview) -> Iterator[Node]:
    yield unwrapped(_RULE)
    yield unwrapped(f"turn {preview.turn_id}, {preview.prompt}, to {preview.model}")
    yield line((_details(preview), "dim"))
    for message in preview.messages:
        yield line((f"\n[{message.role}]", "bold"))
        yield unwrapped(message.text)


def _details(preview: RequestPreview) -> str:
    parts = [f"about {preview.tokens:,} tokens"]
    if preview.schema:
        parts.append(f"response: {preview.schema}, at most {preview.max_tokens:,} tokens")
    if preview.is_cached:
        parts.append("the journal holds the response: nothing would be sent")
    if preview.has_placeholder:
        parts.append("with a placeholder for what the first response will name")
    return "; ".join(parts)


def _previews_summary(previews: Sequence[RequestPreview]) -> str:
    new = [preview for preview in previews if not preview.is_cached]
    turns = len({preview.turn_id for preview in previews})
    return (
        f"\n{plural(len(previews), 'request')} to read {plural(turns, 'turn')}, {len(new):,} of "
        f"them to be sent: about {sum(preview.tokens for preview in new):,} tokens. The requests "
        "that resolve the results against the group depend on the responses."
    )
