"""The phases of a migration in sentences, and what they mean for other commands on its turns."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from turnetl.base.errors import GraphUnusable
from turnetl.base.ids import final_group, turns_group
from turnetl.base.model import GroupId, SessionId
from turnetl.graph.migrations import MigrationPhase, MigrationSummary, TurnMigration

_MOVING = (MigrationPhase.CUTTING_OVER, MigrationPhase.ROLLING_BACK, MigrationPhase.DISCARDING)
"""Phases in which turns are on their way: those of one group are in two."""


def check_not_moved(migrations: Sequence[TurnMigration], groups: Iterable[GroupId]) -> None:
    """Raise if a migration has begun to move turns of these groups, or of their shadow groups."""
    moved = moved_groups(migrations)
    for group in sorted({final_group(group) for group in groups} & moved.keys()):
        raise GraphUnusable(f"group `{group}`: {moved[group]}; then forget")


def moved_groups(
    migrations: Iterable[TurnMigration | MigrationSummary],
) -> Mapping[GroupId, str]:
    """Return the groups, shadow groups too, whose turns are on their way, and what to do."""
    return {
        group: f"its migration is {phase_text(one.phase)}, so that its turns are not all in one "
        f"group: {remedy(one)}"
        for one in migrations
        if one.phase in _MOVING
        for group in (one.group_id, turns_group(one.group_id))
    }


def summarised_groups(
    migrations: Sequence[TurnMigration], sessions: Collection[SessionId]
) -> list[GroupId]:
    """Return the groups of open migrations whose old data is of these sessions too, sorted."""
    return sorted(
        migration.group_id
        for migration in migrations
        if migration.is_open and any(session in sessions for _, session in migration.sessions)
    )


def incomplete_reason(migration: TurnMigration, turns: int) -> str | None:
    """Return why no cutover is possible with so many turns in the shadow group; None if one is."""
    group = migration.group_id
    if migration.phase is MigrationPhase.CUTTING_OVER:
        return None
    if migration.phase is MigrationPhase.CUT_OVER:
        return f"group `{group}` is cut over already: {remedy(migration)}"
    if migration.phase is not MigrationPhase.READY:
        return f"group `{group}` is not ready for a cutover: {remedy(migration)}"
    if turns < migration.turns:
        return (
            f"group `{group}`: {migration.turns - turns:,} of {migration.turns:,} turns are no "
            f"longer in the graph; `turnetl migrate run ARCHIVES --group {group}` ingests them"
        )
    return None


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
