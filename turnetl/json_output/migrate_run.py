"""`turnetl migrate run --json`."""

from typing import Annotated

from turnetl.base.result_schema import Timestamp, encoded_type
from turnetl.base.results import JsonOutput, described
from turnetl.base.shadow_groups import sessions_group, turns_group
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.ingestion.report import IngestReport
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.migration.run_report import MigrationRun


class MigrationOutput(JsonOutput):
    """The state of a migration."""

    migration_id: Annotated[str, described("8 hexadecimal digits.")]
    group: fields.GroupField
    phase: Annotated[
        MigrationPhase,
        described(
            "`running`: turns are missing; `ready` for the cutover; `cutting_over`; `cut_over`: "
            "the group holds the turns; `rolling_back`; `finishing`: the old data is being "
            "deleted; `discarding`: the turns are; `finished`."
        ),
    ]
    turns_group: Annotated[str, described("Group that holds the turns before the cutover.")]
    sessions_group: Annotated[str, described("Group that holds the old data after the cutover.")]
    sessions: Annotated[int, described("Sessions whose turns replace old data.")]
    turns: Annotated[int, described("Turns of these sessions; 0 until all are ingested.")]
    moved: Annotated[int, described("Episodes of other programs that the turns replace.")]
    staying: Annotated[int, described("Other episodes of other programs, which stay.")]
    started_at: Annotated[Timestamp, described("When its first run began.")]
    cut_over_at: Annotated[
        Timestamp | None, described("When the group got the turns; null if it has not.")
    ]


class RefusedGroupOutput(JsonOutput):
    """A group that is not migrated."""

    group: fields.GroupField
    reason: Annotated[str, described("Why, and what to do.")]


class MigrationRunOutput(JsonOutput):
    """Result of a run of a migration."""

    migrations: Annotated[list[MigrationOutput], described("The migrations, by group.")]
    refused: Annotated[
        list[RefusedGroupOutput],
        described("Groups with data of other programs that are left alone."),
    ]
    ingest: Annotated[
        encoded_type(IngestReport),  # type: ignore[valid-type]
        described("What was ingested."),
    ]


def migration_run_output(report: MigrationRun) -> MigrationRunOutput:
    return MigrationRunOutput(
        migrations=[migration_output(one) for one in report.migrations],
        refused=[RefusedGroupOutput(group=one.group, reason=one.reason) for one in report.refused],
        ingest=report.ingested,
    )


def migration_output(migration: TurnMigration) -> MigrationOutput:
    group = migration.group_id
    return MigrationOutput(
        migration_id=migration.migration_id,
        group=group,
        phase=migration.phase,
        turns_group=turns_group(group),
        sessions_group=sessions_group(group, migration.migration_id),
        sessions=len(migration.sessions),
        turns=migration.turns,
        moved=len(migration.moved),
        staying=len(migration.staying),
        started_at=timestamp(migration.started_at),
        cut_over_at=timestamp(migration.cut_over_at),
    )
