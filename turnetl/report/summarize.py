"""Deferred summaries: how many were written, or would be."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.exit_code import ExitCode
from turnetl.ingestion.summarize_report import ALIKE, DeferredSummaries, SummarizeReport
from turnetl.report import status
from turnetl.report.costs import format_cost, token_count
from turnetl.report.layout import add_group_column, caption, plural


def table(report: SummarizeReport) -> RenderableType:
    """Render a row per group."""
    if not report.groups:
        return Group("the graph is empty: run `turnetl backfill`, or check --graph")
    view = Table()
    add_group_column(view)
    is_audited = any(group.audit for group in report.groups)
    headers = ("to write",) if report.is_dry_run else ("written", "missing")
    for header in (*headers, *(_AUDIT if is_audited else ())):
        view.add_column(header, justify="right")
    for group in report.groups:
        view.add_row(Text(group.group), *_counts(report, group))
    return Group(view, caption(_summary(report)))


def messages(report: SummarizeReport) -> list[str]:
    """Return why groups have no summaries to write, or were not written."""
    unrecorded = [
        f"group `{group.group}`: an earlier version of turnetl wrote its summaries and recorded "
        "none: nothing is deferred, and the next turn about an entity writes a new one"
        for group in report.groups
        if not group.is_recorded
    ]
    return unrecorded + status.error_messages(report.groups)


def exit_code(report: SummarizeReport) -> int:
    """Return the code of the first group with an error."""
    return next((group.exit_code for group in report.groups if group.exit_code), ExitCode.DONE)


_AUDIT = ("audited", f"cosine ≥ {ALIKE}", "mean cosine", "facts missing")


def _counts(report: SummarizeReport, group: DeferredSummaries) -> list[str]:
    if not report.is_dry_run:
        return [f"{group.written:,}", f"{group.to_write - group.written:,}"]
    counts = [f"{group.to_write:,}"]
    if group.audit is None:
        return counts
    audit = group.audit
    mean = "" if audit.mean_cosine is None else f"{audit.mean_cosine:.2f}"
    return [*counts, f"{audit.audited:,}", f"{audit.alike:,}", mean, f"{audit.missing_facts:,}"]


def _summary(report: SummarizeReport) -> str:
    count, done = (
        (report.to_write, "to write") if report.is_dry_run else (report.written, "written")
    )
    summaries = f"{plural(count, 'deferred summary', 'deferred summaries')} {done}"
    if report.model is None:
        return summaries
    requests, tokens = plural(report.usage.calls, "request"), token_count(report.usage)
    cost = format_cost(report.usage.cost)
    return f"{summaries}; {report.model}: {requests}, {tokens:,} tokens, cost {cost}"
