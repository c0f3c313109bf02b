"""`turnetl verify --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.json_output import fields
from turnetl.verification.check import Check
from turnetl.verification.repairs import repair_sentence
from turnetl.verification.report import Finding, GroupVerification, VerifyReport


class FindingOutput(JsonOutput):
    """What one check found in a group."""

    check: Annotated[Check, described("The check.")]
    is_wrong: Annotated[bool, described("False: it is only worth knowing.")]
    count: Annotated[int, described("How often it was found.")]
    meaning: Annotated[str, described("What each of them is.")]
    remedy: Annotated[str, described("What to do about it.")]
    examples: Annotated[list[str], described("The first ones, sorted.")]


class VerifiedGroupOutput(JsonOutput):
    """What was found in a group."""

    group: fields.GroupField
    turns: Annotated[int, described("Turns in the graph.")]
    wrong: Annotated[int, described("Errors: the sum of the findings that are wrong.")]
    findings: Annotated[list[FindingOutput], described("The checks that found something.")]
    repairs: Annotated[
        list[str], described("What `--fix` can repair in the graph, a sentence each.")
    ]
    committed_meanwhile: Annotated[
        int, described("Turns that another process committed meanwhile; not verified.")
    ]
    lake_problem: Annotated[
        str | None, described("Why the group was not compared with the lake; null if it was.")
    ]
    migration: Annotated[
        str | None,
        described(
            "The interrupted migration that explains what is found, and what to do; or null."
        ),
    ]


class VerifyOutput(JsonOutput):
    """The result of a verification."""

    groups: Annotated[list[VerifiedGroupOutput], described("The groups, sorted by name.")]
    graph_problem: Annotated[
        str | None, described("Why the graph was not verified; null if it was.")
    ]
    files: Annotated[
        list[FindingOutput],
        described("Files of lake and graph that are not as they were written, by check."),
    ]
    tables: Annotated[
        int, described("Tables of the lake that were read completely and are as they were written.")
    ]
    table_bytes: Annotated[int, described("Bytes of these tables.")]
    permissions: Annotated[
        FindingOutput | None,
        described("Files and folders that too many users may use; null if there are none."),
    ]
    wrong: Annotated[int, described("All errors; the exit code is 3 if there are any.")]
    repaired: Annotated[int, described("Repairs that `--fix` made.")]
    index: Annotated[
        str | None, described("Folder of the search index; null if there is none to compare with.")
    ]
    index_problem: Annotated[
        str | None, described("Why the index was not verified; null if it was, or there is none.")
    ]


def verify_output(report: VerifyReport) -> VerifyOutput:
    return VerifyOutput(
        groups=[_group(group) for group in report.groups],
        graph_problem=report.graph_problem,
        files=[_finding(finding) for finding in report.files],
        tables=report.tables,
        table_bytes=report.table_bytes,
        permissions=None if report.permissions is None else _finding(report.permissions),
        wrong=report.wrong,
        repaired=report.repaired,
        index=None if report.index is None else str(report.index),
        index_problem=report.index_problem,
    )


def _group(group: GroupVerification) -> VerifiedGroupOutput:
    return VerifiedGroupOutput(
        group=group.group,
        turns=group.turns,
        wrong=group.wrong,
        findings=[_finding(finding) for finding in group.findings],
        repairs=[repair_sentence(repair) for repair in group.repairs],
        committed_meanwhile=group.committed_meanwhile,
        lake_problem=group.lake_problem,
        migration=group.migration,
    )


def _finding(finding: Finding) -> FindingOutput:
    check = finding.check
    return FindingOutput(
        check=check,
        is_wrong=check.is_wrong,
        count=finding.count,
        meaning=check.meaning,
        remedy=check.remedy,
        examples=list(finding.examples),
    )
