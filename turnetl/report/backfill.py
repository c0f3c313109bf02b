"""What a whole backfill did, and what to type next."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from turnetl.backfill_report import BackfillReport
from turnetl.report import filter as filtered
from turnetl.report import ingest as ingested
from turnetl.report import parse as parsed


def table(report: BackfillReport, search: str) -> RenderableType:
    """The archives in two lines, the groups in a table, and three searches to try.

    Args:
        report: what was done.
        search: the command that searches this very graph, up to the question.
    """
    parts: list[RenderableType] = []
    if report.parsed.archives:
        parts += [parsed.table(report.parsed), ingested.table(report.ingested)]
    if report.ingested.sample_questions:
        parts += ["", "Ask it something:"]
        parts += [
            _line(f'  {search} "{question}"') for question in report.ingested.sample_questions
        ]
    return Group(*parts)


def _line(text: str) -> Text:
    """Return what is to be copied: never broken."""
    return Text(text, no_wrap=True, overflow="ignore")


def as_json(report: BackfillReport) -> dict[str, Any]:
    return {
        **ingested.as_json(report.ingested),
        "parsed": parsed.as_json(report.parsed),
        "filtered": filtered.as_json(report.filtered),
    }


def sentences(report: BackfillReport) -> list[str]:
    return parsed.sentences(report.parsed) + ingested.sentences(report.ingested)


def exit_code(report: BackfillReport) -> int:
    """The ingest's, unless that is no failure and an archive could not be read."""
    ingest, parse = ingested.exit_code(report.ingested), parsed.exit_code(report.parsed)
    return ingest if ingested.is_failure(ingest) else parse or ingest
