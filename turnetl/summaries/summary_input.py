"""What a summary of an entity is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from turnetl.base.model import Entity, Fact


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """What a new summary of one entity is made of."""

    entity: Entity
    """In its new state, with the summary that it has."""
    previous: str
    """The summary that a turn wrote last, or that the entity had before the first one; may be
    empty."""
    facts: tuple[Fact, ...]
    """The active facts, oldest first."""
    new: frozenset[str]
    """Uuids of those that the previous summary does not know."""
    invalidated: tuple[Fact, ...]
    """Facts that were invalidated since the previous summary, the latest last."""
    degrees: Mapping[str, int] = field(default_factory=dict)
    """Number of facts about the other entity of each fact, by its uuid."""
    failures: int = 0
    """Refreshes in a row for which a summariser returned no text."""
