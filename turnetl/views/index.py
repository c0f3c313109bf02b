"""The search index: its groups, its size, and how current it is."""

from datetime import datetime

from turnetl.base.text import format_cost, format_minute, plural, size
from turnetl.index.index_report import IndexReport, IndexStatus, QuestionEstimate, QuestionReport
from turnetl.views import costs
from turnetl.views.nodes import Column, Table, View, numbers

EMPTY_GRAPH = "the graph is empty: run `turnetl backfill`, or check --graph"
_MISSING = "search index: none yet; the next search makes it, or `turnetl index`"


def view(report: IndexReport) -> View:
    """Return a row per group; then what changed, passages, size, embedder, time and path."""
    groups = report.status.groups
    if not groups:
        return [EMPTY_GRAPH, _summary(report)]
    rows = [(group.group_id, f"{group.turns:,}") for group in groups]
    return [Table((Column("group"), *numbers("turns")), rows), _summary(report)]


def estimate_view(estimate: QuestionEstimate) -> View:
    usage = estimate.usage
    text = (
        f"{plural(estimate.turns, 'turn')} without questions: {plural(usage.calls, 'request')} to "
        f"{estimate.model}, about {usage.prompt_tokens:,} tokens in and "
        f"{usage.completion_tokens:,} out, cost {format_cost(usage.cost)}; responses in the "
        "journal cost nothing"
    )
    return [text]


def status_line(status: IndexStatus | None, problem: str | None = None) -> str:
    """Return in one line how current an index is, or why a search would not use it as it is."""
    if problem is not None:
        return problem
    if status is None:
        return _MISSING
    text = f"search index: {plural(status.turns, 'turn')}{_behind(status)}; {_caught_up(status)}"
    return f"{text}; {_waiting(status)}" if status.turns_to_embed else text


def unread_messages(reason: str | None, caught_up_at: datetime | None) -> list[str]:
    """Return why a command used the index without reading the graph, and how old it is."""
    if reason is None:
        return []
    age = "which is not complete yet"
    if caught_up_at is not None:
        age = f"which was brought up to date {format_minute(caught_up_at)} UTC"
    return [f"the graph was not read: {reason}; this is what the search index holds, {age}"]


def _summary(report: IndexReport) -> str:
    status = report.status
    changes = f"{plural(report.changes.added, 'turn')} read from the graph"
    if report.changes.removed:
        changes += f", {report.changes.removed:,} removed"
    return (
        f"{changes}; the index holds {plural(status.turns, 'turn')} and "
        f"{plural(status.passages, 'passage')}, {size(status.bytes)}\n"
        f"{_questions(status, report.questions)}"
        f"{_caught_up(status)}; embedder {_embedders(status)}\n{status.path}"
    )


def _embedders(status: IndexStatus) -> str:
    if status.search_embedder is None:
        return status.embedder
    waiting = f"; {_waiting(status)}" if status.turns_to_embed else ""
    return f"{status.search_embedder}{waiting}"


def _waiting(status: IndexStatus) -> str:
    return (
        f"{plural(status.turns_to_embed, 'turn')} not embedded by {status.search_embedder} yet: "
        "run `turnetl index`"
    )


def _questions(status: IndexStatus, report: QuestionReport | None) -> str:
    if report is None and not status.turns_with_questions:
        return ""
    line = f"{plural(status.turns_with_questions, 'turn')} with questions"
    if report is not None:
        line += f", {report.turns:,} of them new"
        if report.failed:
            line += f"; {plural(report.failed, 'response')} not valid: run the command again"
        line += f"; {costs.used(report.usage)}"
    return f"{line}\n"


def _caught_up(status: IndexStatus) -> str:
    if status.caught_up_at is None:
        return "not complete yet: run `turnetl index`"
    return f"brought up to date {format_minute(status.caught_up_at)} UTC"


def _behind(status: IndexStatus) -> str:
    if status.turns_behind is None:
        return ""
    if not status.turns_behind:
        return ", up to date"
    return f", {plural(status.turns_behind, 'turn')} behind the graph"
