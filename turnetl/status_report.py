"""The report of `turnetl status`: the groups, the search index and the tables of the lake."""

from dataclasses import dataclass

from turnetl.index.report import IndexStatus
from turnetl.ingestion.report import IngestReport


@dataclass(frozen=True, slots=True)
class StatusReport(IngestReport):
    """The state of all groups, with that of what is beside the graph."""

    index: IndexStatus | None = None
    """The search index; None if there is none to read."""
    index_problem: str | None = None
    """Why a search would not use the index as it is, and what to do; None if it would."""
    damaged_tables: int = 0
    """Tables of the lake that are damaged, as far as their footers say and, of those that changed
    since the last filter, their rows."""
    unread: str | None = None
    """Why the graph could not be read, so that the report is that of the index; None if it was."""
