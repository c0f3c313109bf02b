"""What a run of a migration did."""

from dataclasses import dataclass

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId
from turnetl.graph.migrations import TurnMigration
from turnetl.ingestion import report as ingest_report
from turnetl.ingestion.report import IngestReport
from turnetl.migration.report import MigrationPlan


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """A group that was not migrated."""

    group: GroupId
    reason: str
    """With what to do."""


@dataclass(frozen=True, slots=True)
class MigrationRun:
    """A run of `migrate run`."""

    plan: MigrationPlan
    migrations: tuple[TurnMigration, ...]
    """The states after the run, by group; in a dry run those that it would begin with."""
    refused: tuple[RefusedGroup, ...]
    """Groups with session-level data that were left alone; empty if the user named the groups."""
    ingested: IngestReport
    """Its groups are those of `migrations`; none in a dry run."""


def exit_code_of(run: MigrationRun) -> int:
    """Return that of the ingest; 1 if there was nothing to migrate."""
    return ingest_report.exit_code_of(run.ingested) if run.migrations else ExitCode.FAILED
