"""Turns read and resolved against a small group in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import builders
from turnetl.extraction.port import Resolved
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror.group import Group
from turnetl.model import Change, Entity, Episode, Fact, GroupContents, Receipt, Usage

NOW = datetime(2026, 3, 3, tzinfo=UTC)


@dataclass
class Shop:
    """The group `shop`, and what each turn did to it."""

    group: Group = field(
        default_factory=lambda: Group(GroupContents(builders.GROUP, None, (), (), (), {}))
    )
    turns: list[Episode] = field(default_factory=list)

    async def resolve(self, native: str = "p0", **fields: Any) -> Resolved:
        """Extract and resolve a turn, changing nothing."""
        episode = builders.episode(native, **fields)
        extractor = StructuralExtractor()
        found = await extractor.extract(episode, self.turns[-3:])
        return await extractor.resolve(episode, found, self.group, now=NOW)

    async def say(self, native: str = "p0", **fields: Any) -> Resolved:
        """Extract and resolve a turn, and make what it did part of the group."""
        episode = builders.episode(native, **fields)
        resolved = await self.resolve(native, **fields)
        self.group.apply(_change(episode, resolved, self.group), _receipt(episode))
        self.turns.append(episode)
        return resolved

    def names(self, label: str) -> list[str]:
        return sorted(e.name for e in self.group.entities if label in e.labels)

    def texts(self, name: str) -> list[str]:
        return [fact.text for fact in self.group.facts if fact.name == name]

    def facts(self, name: str) -> list[Fact]:
        return [fact for fact in self.group.facts if fact.name == name]

    def name_of(self, uuid: str) -> str:
        entity = self.group.entity(uuid)
        assert entity is not None
        return entity.name


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def read() -> Callable[..., Any]:
    async def one(**fields: Any) -> Shop:
        shop = Shop()
        await shop.say(**fields)
        return shop

    return one


def _change(episode: Episode, resolved: Resolved, group: Group) -> Change:
    known_entities: Sequence[Entity | None] = [group.entity(e.uuid) for e in resolved.entities]
    known_facts: Sequence[Fact | None] = [group.fact(f.uuid) for f in resolved.facts]
    return Change(
        episode=episode,
        entities=resolved.entities,
        facts=resolved.facts,
        mentions=resolved.mentions,
        entities_before=tuple(e for e in known_entities if e is not None),
        facts_before=tuple(f for f in known_facts if f is not None),
        previous_turn=None,
        next_turn=None,
        usage=Usage(),
    )


def _receipt(episode: Episode) -> Receipt:
    turn = episode.turn
    assert turn.started_at is not None
    return Receipt(
        turn_id=turn.turn_id,
        group_id=turn.group_id,
        session_id=turn.session_id,
        ordinal=turn.ordinal,
        run_id="r",
        content_hash=turn.content_hash,
        recipe="",
        committed_at=NOW,
        started_at=turn.started_at,
        ended_at=turn.ended_at,
        archive=turn.archive,
        first_line=turn.first_line,
        last_line=turn.last_line,
        usage=Usage(),
        nodes_new=0,
        edges_new=0,
        edges_retired=0,
    )
