"""The report of `turnetl status`: the groups, the search index and the tables of the lake."""

from dataclasses import dataclass, fields
from typing import Annotated

from turnetl.base.model import Usage
from turnetl.base.results import described
from turnetl.graph.migrations import MigrationSummary
from turnetl.graph.session_level import SessionLevelCounts
from turnetl.index.index_report import IndexStatus
from turnetl.ingestion.ingest_report import (
    ExtractorUse,
    GroupReport,
    TurnsOfGroup,
    TurnTotals,
)

_CommittedField = Annotated[int, described("Turns in the graph.")]
_UsageField = Annotated[
    Usage, described("Usage of the turns in the graph, over all runs.", name="usage")
]


@dataclass(frozen=True, slots=True)
class GroupStatus(TurnsOfGroup):
    """The status of a group."""

    turns: Annotated[int, described("Turns in the lake or in the graph.")]
    extractor_uses: Annotated[
        tuple[ExtractorUse, ...],
        described("What made the turns in the graph, the latest last.", name="extractors"),
    ] = ()
    committed: _CommittedField = 0
    missing_archives: Annotated[
        tuple[str, ...],
        described("Archives that no longer exist at their path; their turns stay."),
    ] = ()
    retained_turns: Annotated[
        int, described("Turns that their archives held once and no longer hold; they stay.")
    ] = 0
    session_level: Annotated[
        SessionLevelCounts | None,
        described(
            "The part of `episodes`, `entities` and `facts` that other programs wrote and no turn "
            "states; null if there is none, if the graph did not respond, or while a migration "
            "moves data."
        ),
    ] = None
    migration: Annotated[
        MigrationSummary | None,
        described("The migration of the group that is not finished; null if there is none."),
    ] = None

    @classmethod
    def of(cls, report: GroupReport) -> "GroupStatus":
        """Return what the report of a run that did nothing says about the group."""
        values = {one.name: getattr(report, one.name) for one in fields(TurnsOfGroup)}
        values["turns"] += report.missing_from_lake
        return cls(**values, committed=report.in_graph + report.missing_from_lake)

    @property
    def total_usage(self) -> _UsageField:
        return self.usage or Usage()


@dataclass(frozen=True, slots=True)
class StatusReport(TurnTotals):
    """The status of all groups in the lake or in the graph."""

    groups: Annotated[tuple[GroupStatus, ...], described("The groups, sorted by name.")]
    index: Annotated[
        IndexStatus | None, described("The search index; null if there is none to read.")
    ] = None
    index_problem: Annotated[
        str | None,
        described(
            "Why a search would not use the index as it is, and what to do; null if it would."
        ),
    ] = None
    damaged_tables: Annotated[
        int,
        described("Damaged tables of the lake; `turnetl verify` reads all tables, and names them."),
    ] = 0
    """As far as their footers say and, of those that changed since the last filter, their rows."""
    unread: Annotated[
        str | None,
        described("Why the graph was not read: the report is of the index; null if it was."),
    ] = None

    spent: Annotated[
        Usage | None,
        described(
            "Usage of all stored responses of models, also for pilots, questions and turns that "
            "failed or were undone; null if none can be read."
        ),
    ] = None

    @property
    def committed(self) -> _CommittedField:
        return sum(group.committed for group in self.groups)

    @property
    def usage(self) -> _UsageField:
        return sum((group.total_usage for group in self.groups), Usage())
