"""The Summariser port: a Protocol that writes the summaries of entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from turnetl.model import Usage
from turnetl.summaries.summary_input import SummaryInput


@dataclass(frozen=True, slots=True)
class Summarised:
    """New summaries."""

    texts: Mapping[str, str]
    """By uuid of the entity; none is empty. An entity that is missing keeps its summary."""
    usage: Usage = field(default_factory=Usage)


class Summariser(Protocol):
    """Writes summaries. The same inputs give the same ones, also after a restart."""

    async def summarise(self, inputs: Sequence[SummaryInput]) -> Summarised:
        """Return the summaries of these entities, of one group.

        Args:
            inputs: sorted by uuid, each entity once; none give no summary and cost nothing.

        Raises:
            RunStopped: the budget does not cover them.
            ModelBusy: no response after all retries.
            ModelUnusable: the user must act first.
        """
        ...

    def estimate(self, inputs: Sequence[SummaryInput]) -> Usage:
        """Return what they use if no response is in the journal, rather too much than too little.

        Args:
            inputs: as of `summarise`.
        """
        ...
