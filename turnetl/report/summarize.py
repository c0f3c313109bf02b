"""Deferred summaries: how many were written, or would be."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.exit_code import ExitCode
from turnetl.ingestion.summarize_report import ALIKE, DeferredSummaries, SummarizeReport
from turnetl.report import status
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
    by_model = [
        f"group `{group.group}`: its turns record no summaries, as a model wrote them with the "
        "turns: nothing is deferred"
        for group in report.groups
        if not group.is_recorded
    ]
    return by_model + status.error_messages(report.groups)


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
    if report.is_dry_run:
        return f"{plural(report.to_write, 'deferred summary', 'deferred summaries')} to write"
    return f"{plural(report.written, 'deferred summary', 'deferred summaries')} written"
