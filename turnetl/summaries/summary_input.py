"""What a summary of an entity is made of."""

from dataclasses import dataclass

from turnetl.model import Entity, Fact


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """What a new summary of one entity is made of."""

    entity: Entity
    """In its new state, with the summary that it has."""
    previous: str
    """The summary that a turn wrote last; empty if there is none."""
    facts: tuple[Fact, ...]
    """The active facts, oldest first."""
    new: frozenset[str]
    """Uuids of those that the previous summary does not know."""
    invalidated: tuple[Fact, ...]
    """Facts that the turn invalidated."""
