"""The report of a backfill, and searches to try next."""

from collections.abc import Sequence

from rich.console import Group, RenderableType

from turnetl.backfill_report import BackfillReport
from turnetl.base.exit_code import is_failure
from turnetl.ingestion.report import StopCause, exit_code_of
from turnetl.report import filter as filtering
from turnetl.report import ingest, parse
from turnetl.report import layout as md
from turnetl.report.layout import unwrapped


def table(
    report: BackfillReport, search_command: str, sample_queries: Sequence[str]
) -> RenderableType:
    """Render the archives in two lines, the groups in a table, and up to three searches to try.

    Args:
        report: the reports of the stages.
        search_command: the command that searches the same graph, up to the query.
        sample_queries: queries that the graph can answer.
    """
    parts: list[RenderableType] = []
    if report.parsed.archives or report.parsed.is_shard:
        parts.append(parse.table(report.parsed))
        parts += filtering.repeated(report.filtered)
        parts.append(ingest.table(report.ingested))
    if sample_queries:
        parts += ["", "Try a search:"]
        parts += [unwrapped(f'  {search_command} "{query}"') for query in sample_queries]
    return Group(*parts)


def errors(report: BackfillReport) -> list[str]:
    """Return why the backfill failed, in one sentence each; empty if it did not."""
    return ingest.errors(report.ingested) + parse.errors(report.parsed)


def messages(report: BackfillReport) -> list[str]:
    return parse.messages(report.parsed) + ingest.messages(report.ingested)


def markdown(report: BackfillReport) -> str:
    """Return the report of the ingest, then what was not read, and notes about groups."""
    unread, notes = parse.unread(report.parsed), parse.notes(report.parsed)
    return md.sections(
        ingest.markdown(report.ingested),
        *(["## Archives that were not read", md.bullets(unread)] if unread else []),
        *(["## Notes", md.bullets(notes)] if notes else []),
    )


def is_budget_stop(report: BackfillReport) -> bool:
    """Return whether the budget ended the ingest, and nothing else failed."""
    causes = {group.stop_cause for group in report.ingested.groups if group.error}
    return causes == {StopCause.BUDGET} and not (
        report.ingested.error or parse.errors(report.parsed)
    )


def exit_code(report: BackfillReport) -> int:
    """Return the exit code of the ingest, unless only an archive could not be read."""
    ingested, parsed = exit_code_of(report.ingested), parse.exit_code(report.parsed)
    return ingested if is_failure(ingested) else parsed or ingested
