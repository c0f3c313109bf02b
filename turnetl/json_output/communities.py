"""`turnetl communities build --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.community_report import CommunityReport, GroupCommunities
from turnetl.json_output import fields
from turnetl.json_output.usage import UsageOutput, usage_output


class GroupCommunitiesOutput(JsonOutput):
    """The communities of a group."""

    group: fields.GroupField
    kept: Annotated[int, described("Communities whose members did not change.")]
    to_write: Annotated[
        int, described("Communities that were missing, or had other members or another writer.")
    ]
    written: Annotated[int, described("Of `to_write`, those that are written.")]
    to_remove: Annotated[int, described("Communities that no longer are any.")]
    removed: Annotated[int, described("Of `to_remove`, those that are removed.")]
    error: Annotated[str | None, described("Error that stopped the group, or null.")]


class CommunitiesOutput(JsonOutput):
    """A build of communities."""

    groups: Annotated[list[GroupCommunitiesOutput], described("The groups, sorted by name.")]
    dry_run: Annotated[bool, described("Whether nothing was to be written.")]
    model: Annotated[
        str | None,
        described("Provider and model that names and summarises; null if rules do."),
    ]
    by_rules: Annotated[
        int, described("Communities that the model should have described and rules did.")
    ]
    usage: Annotated[
        UsageOutput,
        described("Usage of the model without responses from the journal; estimated if `dry_run`."),
    ]
    out_of_time: Annotated[bool, described("Whether `--max-seconds` ended the build.")]


def communities_output(report: CommunityReport) -> CommunitiesOutput:
    return CommunitiesOutput(
        groups=[_group(group) for group in report.groups],
        dry_run=report.is_dry_run,
        model=report.model,
        by_rules=report.by_rules,
        usage=usage_output(report.usage),
        out_of_time=report.is_out_of_time,
    )


def _group(group: GroupCommunities) -> GroupCommunitiesOutput:
    return GroupCommunitiesOutput(
        group=group.group,
        kept=group.kept,
        to_write=group.to_write,
        written=group.written,
        to_remove=group.to_remove,
        removed=group.removed,
        error=group.error,
    )
