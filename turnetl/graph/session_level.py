"""What a group holds of other programs: their episodes, and what only these mention or state.

Their episodes are those that no TurnCommit records, session-level data among them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from turnetl.base import ids
from turnetl.base.graph_model import Mention
from turnetl.base.model import Entity, Fact, GroupId, TurnId
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


def later_chunks(chunks: Collection[tuple[str, int]]) -> frozenset[str]:
    """Return the uuids of all chunks but the first of turns; `chunks` counts those of each."""
    return frozenset(
        ids.chunk_id(TurnId(turn), number) for turn, count in chunks for number in range(1, count)
    )


UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for the time of creation of a node or fact that has none."""


@dataclass(frozen=True, slots=True)
class SessionLevelCounts:
    """What other programs wrote into a group and no turn states: part of the group's counts."""

    group_id: GroupId
    episodes: Annotated[int, described("Episodes without a TurnCommit.")]
    entities: Annotated[int, described("Entities that only these episodes mention.")]
    facts: Annotated[int, described("Facts that only these episodes state.")]


@dataclass(frozen=True, slots=True)
class SessionLevelData:
    """The episodes of a group without a TurnCommit, with what they mention and state.

    What a program wrote without an episode is not part of it.
    """

    group_id: GroupId
    episodes: tuple[UnrecordedEpisode, ...]
    """By uuid."""
    entities: tuple[Entity, ...]
    """That they mention or that their facts are about, by uuid. A missing name is empty."""
    facts: tuple[Fact, ...]
    """That they state and no turn does, by uuid. `turns` names their episodes; a missing text is
    empty, a missing time of creation `UNKNOWN_TIME`."""
    mentions: tuple[Mention, ...]
    """Of the episodes, by (episode, entity)."""
    shared_entities: frozenset[str]
    """Uuids of those of `entities` that turns mention or state facts about, too."""

    @property
    def counts(self) -> SessionLevelCounts:
        own = len(self.entities) - len(self.shared_entities)
        return SessionLevelCounts(self.group_id, len(self.episodes), own, len(self.facts))


def surplus_groups(episodes: Mapping[str, int], chunks: Mapping[str, int]) -> list[GroupId]:
    """Return the groups with more or fewer episodes than chunks of turns, sorted."""
    differ = (group for group, count in episodes.items() if count != chunks.get(group, 0))
    return sorted(map(GroupId, differ))


def session_level_data(
    group: GroupId,
    episodes: Sequence[UnrecordedEpisode],
    facts: Iterable[Fact],
    entities: Iterable[Entity],
    mentions: Iterable[Mention],
) -> SessionLevelData:
    """Return the part of a group that belongs to these episodes, which have no TurnCommit.

    Facts, entities and mentions are all of the group, in any order.
    """
    own = {episode.uuid for episode in episodes}
    kept, of_turns = [], set()
    for fact in facts:
        if own.issuperset(fact.turns):
            kept += [fact] if fact.turns else []
        else:
            of_turns |= {fact.source, fact.target}
    mentioned = []
    for mention in mentions:
        if mention.episode in own:
            mentioned.append(mention)
        else:
            of_turns.add(mention.entity)
    named = {mention.entity for mention in mentioned}
    named |= {end for fact in kept for end in (fact.source, fact.target)}
    found = {entity.uuid: entity for entity in entities if entity.uuid in named}
    return SessionLevelData(
        group_id=group,
        episodes=tuple(sorted(episodes, key=lambda episode: episode.uuid)),
        entities=tuple(found[uuid] for uuid in sorted(found)),
        facts=tuple(sorted(kept, key=lambda fact: fact.uuid)),
        mentions=tuple(sorted(mentioned, key=lambda link: (link.episode, link.entity))),
        shared_entities=frozenset(named & of_turns),
    )
