"""The port to what names and summarises communities: rules, or a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turnetl.summaries.communities.plan import CommunityInput


@dataclass(frozen=True, slots=True)
class CommunityText:
    """Name and summary of a community; neither is empty."""

    name: str
    summary: str


class CommunityWriter(Protocol):
    """Names and summarises communities."""

    async def describe(self, communities: Sequence[CommunityInput]) -> Sequence[CommunityText]:
        """Return a text for each community, in their order.

        Raises:
            RunStopped: the budget is used up.
            TurnetlError: as the model, unless another request may succeed.
        """
