"""What a cutover, a rollback or a finish would do, or did."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from turnetl.base.results import described
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

    uuid: Annotated[str, described("Uuid of the episode.", name="episode")]
    name: Annotated[str, described("Name of the episode.")]


@dataclass(frozen=True, slots=True)
class MigrationChange:
    """A cutover, a rollback or a finish: planned, or carried out."""

    command: MigrationCommand
    migration: Annotated[
        TurnMigration, described("The state before it; after it if it was carried out.")
    ]
    old: Annotated[Moves, described("Session-level data that is moved, or deleted.")]
    turns: Annotated[Moves, described("Data of turns that is moved, or deleted.")]
    turn_ids: tuple[str, ...]
    """Of the turns of `turns`, sorted; of all turns if they stay."""
    kept: Annotated[
        Moves,
        described("Data that stays with the group because other data, or a relation, uses it."),
    ] = NOTHING
    back: Moves = NOTHING
    """Old data that a cutover moved, and that other data uses by now: it goes back."""
    remaining: int = 0
    """Nodes and facts that a cutover still has to move."""
    foreign_communities: tuple[str, ...] = ()
    """Uuids of the communities of other programs that stay with the group."""
    mixed_communities: tuple[str, ...] = ()
    """Uuids of the communities that turnetl made of turns and other data: a rollback deletes
    them."""
    staying: Annotated[
        tuple[str, ...],
        described("Episodes of other programs that stay with the group.", counted=True),
    ] = ()
    """Uuids."""
    new_episodes: Annotated[
        tuple[NewEpisode, ...],
        described("Of these, the ones that were written since the last run."),
    ] = ()
    objections: Annotated[
        tuple[str, ...], described("What speaks against it unless `--accept` is given.")
    ] = ()
    error: Annotated[str | None, described("Why it is not possible; null if it is.")] = None
    """Or was not completed, and what to do."""
    exit_code: int = 0
    is_done: Annotated[bool, described("Whether it was carried out.", name="done")] = False
    discards: bool = False
    """Whether a rollback deletes the turns."""
    kept_in_lake: int = 0
    """Turns that are parsed for this group, and that a rollback does not delete from the lake."""

    @property
    def turn_count(self) -> Annotated[int, described("Turns.")]:
        return len(self.turn_ids)

    @property
    def is_refused(self) -> bool:
        """Return whether nothing may be written."""
        return bool(self.objections) or (self.error is not None and not self.is_done)
