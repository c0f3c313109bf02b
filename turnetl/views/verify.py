"""A verification: what was found in each group, and what to do. The upgrade of a graph file."""

from collections.abc import Iterator

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.graph.group_repair import repair_sentence
from turnetl.graph.upgrade_report import GraphUpgrade
from turnetl.verification.check import Check
from turnetl.verification.verify_report import Finding, GroupVerification, VerifyReport
from turnetl.views.nodes import (
    Caption,
    Column,
    Line,
    Lines,
    Node,
    Table,
    View,
    limited,
    line,
    numbers,
    section,
)

NOT_CONFIRMED = "nothing was repaired: confirm it on a terminal, or add --yes"
_REPAIRS = 20
"""Repairs that are shown; `--json` has all."""


def preview(report: VerifyReport) -> View:
    return [*_groups(report), *section("repairs", _repairs(report)), Caption(_summary(report))]


def result(report: VerifyReport) -> View:
    return [*_groups(report), Caption(_summary(report))]


def question(report: VerifyReport) -> str:
    count = sum(map(len, report.repairs.values()))
    loose = len(report.loose_files)
    index_is_wrong = any(group.index_is_wrong for group in report.groups)
    kept = sum(problem.is_kept for problem in report.file_problems)
    checks = {problem.check for problem in report.file_problems}
    parts = (
        (count, f"make {plural(count, 'repair')}"),
        (
            kept,
            f"keep {plural(kept, 'damaged file')} under another name and make again what can be",
        ),
        (Check.DAMAGED_INDEX in checks, "rebuild the search index"),
        (Check.CHANGED_GRAPH in checks, "take the changed graph as it is"),
        (Check.UNRECORDED_GRAPH in checks, "record the checksum of the graph"),
        (loose, f"take rights to {plural(loose, 'file')} away"),
        (index_is_wrong, "bring the search index up to date"),
    )
    text = ", and ".join(text for is_needed, text in parts if is_needed)
    return f"{text[:1].upper()}{text[1:]}?"


def messages(report: VerifyReport) -> list[str]:
    skipped = [
        f"group `{group.group}`: another process committed "
        f"{plural(group.committed_meanwhile, 'turn')} meanwhile, not verified: run the command "
        "again"
        for group in report.groups
        if group.committed_meanwhile
    ]
    lake = [
        f"group `{group.group}` was not compared with the lake: {group.lake_problem}"
        for group in report.groups
        if group.lake_problem is not None
    ]
    moved = [
        f"group `{group.group}`: {group.migration}; then verify again"
        for group in report.groups
        if group.migration is not None
    ]
    if report.graph_problem is not None:
        moved.append(f"the graph was not verified: {report.graph_problem}")
    problem = report.index_problem
    index = [] if problem is None else [f"the search index was not verified: {problem}"]
    return moved + skipped + lake + index


def exit_code(report: VerifyReport) -> int:
    return ExitCode.FOUND if report.wrong else ExitCode.DONE


def _groups(report: VerifyReport) -> Iterator[Node]:
    for group in report.groups:
        yield from _group(group)
    if report.files:
        yield line(("files", "bold"))
        for finding in report.files:
            yield from _lines(finding)
    if report.permissions is not None:
        yield line(("permissions", "bold"))
        yield from _lines(report.permissions)


def _group(group: GroupVerification) -> Iterator[Node]:
    state = plural(group.wrong, "error") if group.wrong else "nothing is wrong"
    yield line((group.group, "bold"), f": {plural(group.turns, 'turn')}, ", state)
    for finding in group.findings:
        yield from _lines(finding)


def _lines(finding: Finding) -> Iterator[Node]:
    yield Lines([_finding(finding)], indent=4)
    yield Lines(finding.examples, indent=8)
    if (more := finding.count - len(finding.examples)) and finding.examples:
        yield Lines([line((f"and {more:,} more", "dim"))], indent=8)


def _finding(finding: Finding) -> Line:
    check = finding.check
    return line(
        (check.value, "red" if check.is_wrong else "cyan"),
        f" {finding.count:,}: {check.meaning}; ",
        (check.remedy, "italic"),
    )


def _repairs(report: VerifyReport) -> View:
    sentences = [
        f"{group}: {repair_sentence(repair)}"
        for group, repairs in report.repairs.items()
        for repair in repairs
    ]
    return limited(sentences, str, _REPAIRS)


def _summary(report: VerifyReport) -> str:
    groups = plural(len(report.groups), "group")
    turns = plural(sum(group.turns for group in report.groups), "turn")
    index = "" if report.index is not None else "; there is no search index to compare with"
    repaired = f"{plural(report.repaired, 'repair')} made; " if report.repaired else ""
    wrong = plural(report.wrong, "error") if report.wrong else "nothing is wrong"
    size = f"{report.table_bytes / 1e6:,.1f} MB"
    tables = f"{plural(report.tables, 'table')} read completely ({size}); " if report.tables else ""
    return f"{repaired}{tables}{groups}, {turns}: {wrong}{index}"


def upgrade_view(report: GraphUpgrade) -> View:
    if report.previous_version is None:
        return [
            f"graph `{report.graph}` has storage version {report.storage_version}: nothing to do"
        ]
    rows = [(table, f"{count:,}") for table, count in report.tables.items() if count]
    total = sum(report.tables.values())
    text = (
        f"graph `{report.graph}`: {plural(total, 'row')} carried over from storage version "
        f"{report.previous_version} to {report.storage_version}\nthe old file stays as "
        f"`{report.kept}`, its logs beside it; delete them when you need no way back"
    )
    return [Table((Column("table"), *numbers("rows")), rows), text]


def upgrade_messages(report: GraphUpgrade) -> list[str]:
    if not report.is_log_cut:
        return []
    text = (
        "the log of the old file ended in an incomplete transaction, as after a kill: it is left "
        "out; turns committed before it are in the graph, ingest again to commit the rest"
    )
    return [text]
