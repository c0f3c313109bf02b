"""`turnetl backfill --json`."""

from typing import Annotated

from turnetl.backfill_report import BackfillReport
from turnetl.base.results import described
from turnetl.json_output.filter import FilterOutput, filter_output
from turnetl.json_output.ingest import IngestOutput, ingest_values
from turnetl.json_output.parse import ParseOutput, parse_output


class BackfillOutput(IngestOutput):
    """Results of the three stages of a backfill; a dry run only plans the third."""

    parsed: Annotated[ParseOutput, described("Outcome of the archives.")]
    filtered: Annotated[FilterOutput, described("What the filter kept and marked.")]


def backfill_output(report: BackfillReport) -> BackfillOutput:
    return BackfillOutput(
        **ingest_values(report.ingested),
        parsed=parse_output(report.parsed),
        filtered=filter_output(report.filtered),
    )
