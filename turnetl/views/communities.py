"""Communities: what a build changed, or would change."""

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.ingestion.community_build import CommunityReport, GroupCommunities
from turnetl.ingestion.ingest_report import error_messages
from turnetl.views import costs
from turnetl.views.index import EMPTY_GRAPH
from turnetl.views.nodes import Caption, Column, Table, View, counted, numbers


def view(report: CommunityReport) -> View:
    """Return a row per group, and what names and summarises the communities."""
    if not report.groups:
        return [EMPTY_GRAPH]
    headers = ("kept", "to write", "to remove") if report.is_dry_run else _DONE
    rows = [(group.group, *counted(_counts(report, group))) for group in report.groups]
    return [Table((Column("group"), *numbers(*headers)), rows), Caption(_summary(report))]


def messages(report: CommunityReport) -> list[str]:
    lines = error_messages(report.groups)
    if report.is_out_of_time:
        count = plural(report.missing, "community", "communities")
        lines.append(f"the time is up, {count} missing: the same command continues")
    if report.by_rules:
        count = plural(report.by_rules, "community", "communities")
        lines.append(f"the model described {count} not or wrongly: rules did")
    return lines


def exit_code(report: CommunityReport) -> int:
    codes = (group.exit_code for group in report.groups if group.exit_code)
    return next(codes, ExitCode.STOPPED if report.is_out_of_time else ExitCode.DONE)


_DONE = ("kept", "written", "removed", "missing")


def _counts(report: CommunityReport, group: GroupCommunities) -> tuple[int, ...]:
    if report.is_dry_run:
        return group.kept, group.to_write, group.to_remove
    return group.kept, group.written, group.removed, group.to_write - group.written


def _summary(report: CommunityReport) -> str:
    if report.model is None:
        return "named and summarised by rules, without requests"
    about = "about " if report.is_dry_run else ""
    return f"{report.model}: {about}{costs.used(report.usage)}"
