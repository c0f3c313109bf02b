"""Episodes that no TurnCommit records: session-level data, and data of other programs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Protocol

from turnetl.base import ids
from turnetl.base.model import GroupId, TurnId
from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class UnrecordedEpisode:
    """An Episodic node that another program wrote. A text that it does not have is empty."""

    uuid: Annotated[str, described("Uuid of the episode.", name="episode")]
    group_id: GroupId
    name: Annotated[str, described("Name of the episode.")]
    text: str
    """Graphiti's property `content`."""
    source: str
    source_description: str
    created_at: datetime | None
    """When it was written; None if it has no time with a zone."""
    valid_at: datetime | None
    """Its reference time; None as `created_at`."""
    entities: Annotated[int, described("Entities that it mentions.")]
    facts: Annotated[int, described("Facts that name it.")]


class UnrecordedReader(Protocol):
    """The part of a `GraphStore` with which a migration finds what it may move."""

    async def episode_groups(self) -> Sequence[GroupId]:
        """Return the groups that hold at least one Episodic node of any program, sorted."""

    async def unrecorded_episodes(self, group: GroupId) -> Sequence[UnrecordedEpisode]:
        """Return the episodes of the group that are no chunk of a committed turn, by uuid.

        Reads no vector. All their texts are held in memory.
        """

    async def embedding_sizes(self, group: GroupId) -> Mapping[int, int]:
        """Return how many entities of the group have an embedding of each number of dimensions."""


def later_chunks(chunks: Collection[tuple[str, int]]) -> frozenset[str]:
    """Return the uuids of all chunks but the first of turns, given with their numbers of chunks."""
    return frozenset(
        ids.chunk_id(TurnId(turn), number) for turn, count in chunks for number in range(1, count)
    )
