"""What a run of a migration did."""

from dataclasses import dataclass
from typing import Annotated

from turnetl.base.exit_code import ExitCode
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
from turnetl.graph.migrations import TurnMigration
from turnetl.ingestion import report as ingest_report
from turnetl.ingestion.report import IngestReport
from turnetl.migration.report import MigrationPlan


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """A group that is not migrated."""

    group: GroupField
    reason: Annotated[str, described("Why, and what to do.")]


@dataclass(frozen=True, slots=True)
class MigrationRun:
    """Result of a run of a migration."""

    plan: MigrationPlan
    migrations: Annotated[tuple[TurnMigration, ...], described("The migrations, by group.")]
    """After the run; of a dry run those that it would begin with."""
    refused: Annotated[
        tuple[RefusedGroup, ...],
        described("Groups with data of other programs that are left alone."),
    ]
    """Empty if the user named the groups."""
    ingested: Annotated[IngestReport, described("What was ingested.", name="ingest")]
    """Its groups are those of `migrations`; none in a dry run."""


def exit_code_of(run: MigrationRun) -> int:
    """Return that of the ingest; 1 if there was nothing to migrate."""
    return ingest_report.exit_code_of(run.ingested) if run.migrations else ExitCode.FAILED
