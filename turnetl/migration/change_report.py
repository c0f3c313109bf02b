"""What a cutover, a rollback or a finish would do, or did."""

from dataclasses import dataclass
from enum import StrEnum

from turnetl.graph.migrations import TurnMigration
from turnetl.migration.moves import NOTHING, Moves


class MigrationCommand(StrEnum):
    """The commands that write a group of session-level data."""

    CUTOVER = "cutover"
    ROLLBACK = "rollback"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode that another program wrote while the group was migrated."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True)
class MigrationChange:
    """A change of a group: planned, or carried out."""

    command: MigrationCommand
    migration: TurnMigration
    """The state before the change; after it, once it is done."""
    old: Moves
    """Session-level data that is moved, or deleted."""
    turns: Moves
    """Data of turns that is moved, or deleted."""
    turn_ids: tuple[str, ...]
    """Of the turns of `turns`, sorted; of all turns if they stay."""
    kept: Moves = NOTHING
    """Data that stays with the group because other data uses it, or a relation of a program."""
    back: Moves = NOTHING
    """Old data that a cutover moved, and that other data uses by now: it goes back."""
    remaining: int = 0
    """Nodes and facts that a cutover still has to move."""
    foreign_communities: tuple[str, ...] = ()
    """Uuids of the communities of other programs that stay with the group."""
    mixed_communities: tuple[str, ...] = ()
    """Uuids of the communities that turnetl made of turns and other data: a rollback deletes
    them."""
    staying: tuple[str, ...] = ()
    """Uuids of episodes of other programs that stay with the group."""
    new_episodes: tuple[NewEpisode, ...] = ()
    """Of `staying`, those that were written since the last run."""
    objections: tuple[str, ...] = ()
    """What the user has to accept first."""
    error: str | None = None
    """Why the change is not possible, or was not completed, and what to do."""
    exit_code: int = 0
    is_done: bool = False
    discards: bool = False
    """Whether a rollback deletes the turns."""
    kept_in_lake: int = 0
    """Turns that are parsed for this group, and that a rollback does not delete from the lake."""

    @property
    def turn_count(self) -> int:
        """Return the number of turns."""
        return len(self.turn_ids)

    @property
    def is_refused(self) -> bool:
        """Return whether nothing may be written."""
        return bool(self.objections) or (self.error is not None and not self.is_done)
