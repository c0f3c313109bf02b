"""What a migration that is not finished means for other commands on its turns."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from turnetl.base.errors import GraphUnusable
from turnetl.base.model import GroupId, SessionId
from turnetl.base.shadow_groups import final_group, turns_group
from turnetl.graph.migrations import MigrationPhase, MigrationSummary, TurnMigration
from turnetl.migration.phases import phase_text, remedy

_MOVING = (MigrationPhase.CUTTING_OVER, MigrationPhase.ROLLING_BACK, MigrationPhase.DISCARDING)
"""Phases in which turns are on their way: those of one group are in two."""


def check_not_moved(migrations: Sequence[TurnMigration], groups: Iterable[GroupId]) -> None:
    """Check that the turns of these groups, or of their shadow groups, are in one place.

    Raises:
        GraphUnusable: a migration has begun to move or delete them.
    """
    moved = moved_groups(migrations)
    for group in sorted({final_group(group) for group in groups} & moved.keys()):
        raise GraphUnusable(f"group `{group}`: {moved[group]}; then forget")


def moved_groups(
    migrations: Iterable[TurnMigration | MigrationSummary],
) -> Mapping[GroupId, str]:
    """Return the groups whose turns are on their way, with the reason and what to do.

    Shadow groups are among them.
    """
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
