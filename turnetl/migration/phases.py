"""The phases of a migration in sentences, with the command that each waits for."""

from turnetl.graph.migrations import MigrationPhase, MigrationSummary, TurnMigration


def phase_text(phase: MigrationPhase) -> str:
    """Return the phase as words of a sentence."""
    return phase.value.replace("_", " ")


def remedy(migration: TurnMigration | MigrationSummary) -> str:
    """Return the command that a migration waits for, as the end of a sentence."""
    return _REMEDIES[migration.phase].format(group=f"--group {migration.group_id}")


_BACK = "`turnetl migrate rollback {group}` takes it back"
_REMEDIES = {
    MigrationPhase.RUNNING: "`turnetl migrate run ARCHIVES {group}` continues it",
    MigrationPhase.READY: "`turnetl migrate cutover {group}` completes it",
    MigrationPhase.CUTTING_OVER: f"`turnetl migrate cutover {{group}}` continues it, {_BACK}",
    MigrationPhase.CUT_OVER: f"`turnetl migrate finish {{group}}` deletes the old data, {_BACK}",
    MigrationPhase.ROLLING_BACK: "`turnetl migrate rollback {group}` continues it",
    MigrationPhase.FINISHING: "`turnetl migrate finish {group}` continues it",
    MigrationPhase.DISCARDING: "`turnetl migrate rollback --discard {group}` continues it",
    MigrationPhase.FINISHED: "nothing is left to do",
    MigrationPhase.UNKNOWN: "another version of turnetl began it: finish it with that one",
}


def migration_message(migration: MigrationSummary) -> str:
    """Return the phase of a migration that is open, and the command that it waits for."""
    return (
        f"group `{migration.group_id}`: its migration is {phase_text(migration.phase)}; "
        f"{remedy(migration)}"
    )
