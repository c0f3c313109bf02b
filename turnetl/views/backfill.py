"""The report of a backfill, and searches to try next."""

from collections.abc import Callable, Sequence

from turnetl.backfill_report import BackfillReport
from turnetl.base.exit_code import is_failure
from turnetl.ingestion.ingest_report import exit_code_of
from turnetl.views import filter as filtering
from turnetl.views import ingest, parse, status
from turnetl.views.nodes import Lines, Node, PageOnly, Section, View, unwrapped


def view(report: BackfillReport) -> View:
    """Return the archives in two lines, and the groups in a table.

    A page also has what was not read, and notes about groups.
    """
    ingested = ingest.view(report.ingested)
    if not (report.parsed.archives or report.parsed.is_shard):
        return [PageOnly([*ingested, *_beside(report)])]
    repeated = filtering.repeated(report.filtered) if report.parsed.read.lines else []
    return [*parse.lines(report.parsed), *repeated, *ingested, PageOnly(_beside(report))]


def examples(
    report: BackfillReport, command: Callable[..., str], sample_queries: Sequence[str]
) -> View:
    """Return searches to try in the same graph, and after the first backfill what else to do."""
    ingested, search, shown = report.ingested, command("search"), list[Node]()
    if sample_queries:
        lines = [unwrapped(f'  {search} "{query}"') for query in sample_queries]
        shown += ["", "Try a search:", *lines]
    if ingested.committed and not ingested.already_committed:
        shown += ["", "Then:", *status.commands(status.after_search(command))]
    return shown


def _beside(report: BackfillReport) -> View:
    titles = ("Archives that were not read", "Notes")
    lists = (parse.unread(report.parsed), parse.notes(report.parsed))
    pairs = zip(titles, lists, strict=True)
    return [Section(title, [Lines(sentences)]) for title, sentences in pairs if sentences]


def errors(report: BackfillReport) -> list[str]:
    """Return why the backfill failed, in one sentence each; empty if it did not."""
    return ingest.errors(report.ingested) + parse.errors(report.parsed)


def messages(report: BackfillReport) -> list[str]:
    return parse.messages(report.parsed) + ingest.messages(report.ingested)


def is_budget_stop(report: BackfillReport) -> bool:
    has_failed = report.ingested.error or parse.errors(report.parsed)
    return ingest.is_budget_stop(report.ingested) and not has_failed


def exit_code(report: BackfillReport) -> int:
    """Return the exit code of the ingest, unless only an archive could not be read."""
    ingested, parsed = exit_code_of(report.ingested), parse.exit_code(report.parsed)
    return ingested if is_failure(ingested) else parsed or ingested
