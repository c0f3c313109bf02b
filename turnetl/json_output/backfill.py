"""`turnetl backfill --json`."""

from dataclasses import dataclass
from typing import Annotated

from turnetl.backfill_report import BackfillReport
from turnetl.base.results import INLINED, described
from turnetl.episodes import FilterReport
from turnetl.json_output.ingest import IngestOutput, ingest_output
from turnetl.parsing import ParseReport


@dataclass(frozen=True, slots=True)
class BackfillOutput:
    """Results of the three stages of a backfill; a dry run only plans the third."""

    ingested: Annotated[IngestOutput, INLINED]
    parsed: Annotated[ParseReport, described("Outcome of the archives.")]
    filtered: Annotated[FilterReport, described("What the filter kept and marked.")]


def backfill_output(report: BackfillReport) -> BackfillOutput:
    return BackfillOutput(ingest_output(report.ingested), report.parsed, report.filtered)
