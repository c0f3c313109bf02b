"""Whether a migration is complete enough for a cutover."""

from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.migration.phases import remedy


def incomplete(migration: TurnMigration, turns: int) -> str | None:
    """Return why no cutover is possible now, and what to do; None if one is.

    Args:
        migration: the state.
        turns: in the shadow group now.
    """
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
