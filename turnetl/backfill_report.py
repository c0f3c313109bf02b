"""The report of a backfill: one report per stage."""

from dataclasses import dataclass

from turnetl.episodes import FilterReport
from turnetl.ingestion.report import IngestReport
from turnetl.parsing import ParseReport


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """The reports of the three stages."""

    parsed: ParseReport
    filtered: FilterReport
    ingested: IngestReport
