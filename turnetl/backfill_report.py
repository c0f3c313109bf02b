"""The report of a backfill: one report per stage."""

from dataclasses import dataclass
from typing import Annotated

from turnetl.base.results import INLINED, described
from turnetl.episodes import FilterReport
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.parsing import ParseReport


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """Results of the three stages of a backfill; a dry run only plans the third."""

    parsed: Annotated[ParseReport, described("Outcome of the archives.")]
    filtered: Annotated[FilterReport, described("What the filter kept and marked.")]
    ingested: Annotated[IngestReport, INLINED]
