"""`turnetl summarize --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.summarize_report import (
    LISTED_EDITED,
    AuditedSummary,
    DeferredSummaries,
    SummarizeReport,
    SummaryAudit,
)
from turnetl.json_output import fields
from turnetl.json_output.usage import UsageOutput, usage_output


class AuditedSummaryOutput(JsonOutput):
    """A summary that a turn kept, beside the one that a refresh would write."""

    entity: Annotated[str, described("Name of the entity.")]
    kept: Annotated[str, described("The summary that it has.")]
    new: Annotated[str, described("The summary that a refresh would write; it is stored nowhere.")]
    cosine: Annotated[float, described("Cosine between both texts.")]
    missing_facts: Annotated[int, described("Facts that only the new summary lists.")]


class SummaryAuditOutput(JsonOutput):
    """Summaries that turns kept, compared with what a refresh would write."""

    audited: Annotated[int, described("Summaries compared.")]
    alike: Annotated[
        int, described("Of `audited`, those whose cosine with the new one is at least 0.9.")
    ]
    mean_cosine: Annotated[
        float | None,
        described("Mean cosine between both texts; null if none was compared."),
    ]
    missing_facts: Annotated[
        int, described("Facts that only the new summaries list, over all that were compared.")
    ]
    summaries: Annotated[
        list[AuditedSummaryOutput], described("All of them, the least alike first.")
    ]


class DeferredSummariesOutput(JsonOutput):
    """The deferred summaries of a group."""

    group: fields.GroupField
    to_write: Annotated[
        int,
        described(
            "Summaries that were deferred, and that no run has written since; with `--edited` also "
            "those to be written again."
        ),
    ]
    written: Annotated[int, described("Of `to_write`, those that are written.")]
    edited: Annotated[int, described("Summaries that were edited by hand and are kept.")]
    edited_entities: Annotated[
        list[str], described("The names of the entities of `edited`, sorted, ten at most.")
    ]
    recorded: Annotated[
        bool,
        described(
            "Whether its turns record summaries; false if an earlier version of turnetl wrote them."
        ),
    ]
    audit: Annotated[
        SummaryAuditOutput | None, described("The audit of its summaries; null without `--audit`.")
    ]
    error: Annotated[str | None, described("Error that stopped the group, or null.")]


class SummarizeOutput(JsonOutput):
    """The deferred summaries of the graph."""

    groups: Annotated[list[DeferredSummariesOutput], described("The groups, sorted by name.")]
    dry_run: Annotated[bool, described("Whether nothing was to be written.")]
    model: Annotated[
        str | None, described("Provider and model that writes summaries; null if rules do.")
    ]
    usage: Annotated[
        UsageOutput,
        described(
            "Usage of the model without responses from the journal; with `--dry-run` an estimate."
        ),
    ]


def summarize_output(report: SummarizeReport) -> SummarizeOutput:
    return SummarizeOutput(
        groups=[_group(group) for group in report.groups],
        dry_run=report.is_dry_run,
        model=report.model,
        usage=usage_output(report.usage),
    )


def _group(group: DeferredSummaries) -> DeferredSummariesOutput:
    return DeferredSummariesOutput(
        group=group.group,
        to_write=group.to_write,
        written=group.written,
        edited=len(group.edited),
        edited_entities=list(group.edited[:LISTED_EDITED]),
        recorded=group.is_recorded,
        audit=None if group.audit is None else _audit(group.audit),
        error=group.error,
    )


def _audit(audit: SummaryAudit) -> SummaryAuditOutput:
    return SummaryAuditOutput(
        audited=audit.audited,
        alike=audit.alike,
        mean_cosine=audit.mean_cosine,
        missing_facts=audit.missing_facts,
        summaries=[_audited(one) for one in audit.summaries],
    )


def _audited(one: AuditedSummary) -> AuditedSummaryOutput:
    return AuditedSummaryOutput(
        entity=one.entity,
        kept=one.kept,
        new=one.new,
        cosine=one.cosine,
        missing_facts=one.missing_facts,
    )
