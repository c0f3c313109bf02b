"""The Summariser port: a Protocol that writes the summaries of entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from turnetl.base.errors import TurnetlError
from turnetl.base.model import Entity, Fact, Usage


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """What a new summary of one entity is made of."""

    entity: Entity
    """In its new state, with the summary that it has."""
    previous: str
    """The summary that a turn wrote last, or the one before all turns; may be empty."""
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


@dataclass(frozen=True, slots=True)
class Summarised:
    """New summaries."""

    texts: Mapping[str, str]
    """By uuid of the entity; none is empty. An entity that is missing keeps its summary."""
    usage: Usage = field(default_factory=Usage)
    error: TurnetlError | None = None
    """What stopped some of the requests; the others are paid for, and have their texts here."""

    def all(self) -> "Summarised":
        """Return the summaries of all requests, or raise `error`."""
        try:
            if self.error is not None:
                raise self.error
            return self
        finally:
            # Else the frame and the error refer to each other, and to what called it.
            del self


class Summariser(Protocol):
    """Writes summaries. The same inputs give the same ones, also after a restart."""

    async def summarise(self, inputs: Sequence[SummaryInput]) -> Summarised:
        """Return the summaries of entities of one group, each given once, sorted by uuid.

        With an error if the budget does not cover all of them (`RunStopped`), no response came
        after all retries (`ModelBusy`), or the user must act first (`ModelUnusable`).
        """
        ...

    def estimate(self, inputs: Sequence[SummaryInput]) -> Usage:
        """Return what they use without the journal, rather too much than too little."""
        ...
