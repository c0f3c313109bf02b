"""Deferred summaries, and communities: how many were written, or would be."""

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import listed, plural
from turnetl.ingestion.community_build import CommunityReport, GroupCommunities
from turnetl.ingestion.ingest_report import error_messages
from turnetl.ingestion.summarize_report import (
    ALIKE,
    LISTED_EDITED,
    DeferredSummaries,
    SummarizeReport,
)
from turnetl.views import costs
from turnetl.views.index import EMPTY_GRAPH
from turnetl.views.nodes import Caption, Column, Table, View, counted, numbers


def view(report: SummarizeReport) -> View:
    if not report.groups:
        return [EMPTY_GRAPH]
    is_audited = any(group.audit for group in report.groups)
    headers = ("to write",) if report.is_dry_run else ("written", "missing")
    columns = numbers(*headers, "edited, kept", *(_AUDIT if is_audited else ()))
    rows = [(group.group, *_counts(report, group)) for group in report.groups]
    return [Table((Column("group"), *columns), rows), Caption(_summary(report))]


def messages(report: SummarizeReport) -> list[str]:
    unrecorded = [
        f"group `{group.group}`: an earlier version of turnetl wrote its summaries and recorded "
        "none: nothing is deferred, and the next turn about an entity writes a new one"
        for group in report.groups
        if not group.is_recorded
    ]
    edited = [_edited_message(report, group) for group in report.groups if group.edited]
    return unrecorded + edited + error_messages(report.groups)


def errors(report: SummarizeReport) -> list[str]:
    return error_messages(report.groups)


def is_budget_stop(report: SummarizeReport) -> bool:
    return {group.exit_code for group in report.groups if group.error} == {ExitCode.STOPPED}


def exit_code(report: SummarizeReport) -> int:
    return next((group.exit_code for group in report.groups if group.exit_code), ExitCode.DONE)


def _edited_message(report: SummarizeReport, group: DeferredSummaries) -> str:
    count = len(group.edited)
    names = listed([f"`{name}`" for name in group.edited], LISTED_EDITED)
    reason = (
        "; there are no facts to write them from"
        if report.rewrites_edited
        else "; `turnetl summarize --edited` writes them again"
    )
    kept = f"{plural(count, 'summary', 'summaries')} edited by hand {'is' if count == 1 else 'are'}"
    return f"group `{group.group}`: {kept} kept, of {names}{reason}"


_AUDIT = ("audited", f"cosine ≥ {ALIKE}", "mean cosine", "facts missing")


def _counts(report: SummarizeReport, group: DeferredSummaries) -> list[str]:
    if not report.is_dry_run:
        missing = group.to_write - group.written
        return [f"{group.written:,}", f"{missing:,}", f"{len(group.edited):,}"]
    counts = [f"{group.to_write:,}", f"{len(group.edited):,}"]
    if group.audit is None:
        return counts
    audit = group.audit
    mean = "" if audit.mean_cosine is None else f"{audit.mean_cosine:.2f}"
    return [*counts, f"{audit.audited:,}", f"{audit.alike:,}", mean, f"{audit.missing_facts:,}"]


def _summary(report: SummarizeReport) -> str:
    count, done = (
        (report.to_write, "to write") if report.is_dry_run else (report.written, "written")
    )
    kind = "deferred or edited " if report.rewrites_edited else "deferred "
    summaries = f"{plural(count, f'{kind}summary', f'{kind}summaries')} {done}"
    if report.model is None:
        return summaries
    return f"{summaries}; {report.model}: {costs.used(report.usage)}"


def communities_view(report: CommunityReport) -> View:
    """Return a row per group, and what names and summarises the communities."""
    if not report.groups:
        return [EMPTY_GRAPH]
    headers = ("kept", "to write", "to remove") if report.is_dry_run else _COMMUNITY_COLUMNS
    rows = [(group.group, *counted(_community_counts(report, group))) for group in report.groups]
    return [
        Table((Column("group"), *numbers(*headers)), rows),
        Caption(_communities_summary(report)),
    ]


def communities_messages(report: CommunityReport) -> list[str]:
    lines = error_messages(report.groups)
    if report.is_out_of_time:
        count = plural(report.missing, "community", "communities")
        lines.append(f"the time is up, {count} missing: the same command continues")
    if report.by_rules:
        count = plural(report.by_rules, "community", "communities")
        lines.append(f"the model described {count} not or wrongly: rules did")
    return lines


def communities_exit_code(report: CommunityReport) -> int:
    codes = (group.exit_code for group in report.groups if group.exit_code)
    return next(codes, ExitCode.STOPPED if report.is_out_of_time else ExitCode.DONE)


_COMMUNITY_COLUMNS = ("kept", "written", "removed", "missing")


def _community_counts(report: CommunityReport, group: GroupCommunities) -> tuple[int, ...]:
    if report.is_dry_run:
        return group.kept, group.to_write, group.to_remove
    return group.kept, group.written, group.removed, group.to_write - group.written


def _communities_summary(report: CommunityReport) -> str:
    if report.model is None:
        return "named and summarised by rules, without requests"
    about = "about " if report.is_dry_run else ""
    return f"{report.model}: {about}{costs.used(report.usage)}"
