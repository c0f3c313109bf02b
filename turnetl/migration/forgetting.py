"""What a migration that is not finished means for turns that are forgotten."""

from collections.abc import Collection, Iterable, Sequence

from turnetl.errors import GraphUnusable
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.migration.phases import phase_text, remedy
from turnetl.model import GroupId, SessionId
from turnetl.shadow_groups import final_group

_MOVING = (MigrationPhase.CUTTING_OVER, MigrationPhase.ROLLING_BACK, MigrationPhase.DISCARDING)
"""Phases in which turns are on their way: those of one group are in two."""


def check_not_moved(migrations: Sequence[TurnMigration], groups: Iterable[GroupId]) -> None:
    """Check that the turns of these groups, or of their shadow groups, are in one place.

    Raises:
        GraphUnusable: a migration has begun to move or delete them.
    """
    finals = {final_group(group) for group in groups}
    for migration in migrations:
        if migration.phase in _MOVING and migration.group_id in finals:
            raise GraphUnusable(
                f"group `{migration.group_id}` is {phase_text(migration.phase)}, so that not all "
                f"of its turns can be found: {remedy(migration)}; then forget"
            )


def summarised_groups(
    migrations: Sequence[TurnMigration], sessions: Collection[SessionId]
) -> list[GroupId]:
    """Return the groups of open migrations whose old data is of these sessions too, sorted."""
    return sorted(
        migration.group_id
        for migration in migrations
        if migration.is_open and any(session in sessions for _, session in migration.sessions)
    )
