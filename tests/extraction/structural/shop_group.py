"""A group in memory that turns are extracted into with the structural extractor."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests import builders
from turnetl.base.model import Episode, Fact
from turnetl.extraction.port import Resolved
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror.group import MirrorGroup

NOW = datetime(2026, 3, 3, tzinfo=UTC)


@dataclass
class ShopGroup:
    """The group `shop` in memory, and the turns ingested into it."""

    group: MirrorGroup = field(default_factory=builders.empty_group)
    turns: list[Episode] = field(default_factory=list)

    async def resolve(self, native: str = "p0", **fields: Any) -> Resolved:
        """Extract and resolve a turn without changing the group."""
        episode = builders.episode(native, **fields)
        extractor = StructuralExtractor()
        extracted = await extractor.extract(episode, self.turns[-3:])
        return await extractor.resolve(episode, extracted, self.group, now=NOW)

    async def ingest(self, native: str = "p0", **fields: Any) -> Resolved:
        """Extract and resolve a turn, and apply the result to the group."""
        episode = builders.episode(native, **fields)
        resolved = await self.resolve(native, **fields)
        change = builders.change(episode, resolved.entities, resolved.facts)
        self.group.apply(change, builders.receipt(episode))
        self.turns.append(episode)
        return resolved

    def names(self, label: str) -> list[str]:
        return sorted(e.name for e in self.group.entities if label in e.labels)

    def texts(self, relation: str) -> list[str]:
        return [fact.text for fact in self.group.facts if fact.relation == relation]

    def facts(self, relation: str) -> list[Fact]:
        return [fact for fact in self.group.facts if fact.relation == relation]

    def name_of(self, uuid: str) -> str:
        entity = self.group.entity(uuid)
        assert entity is not None
        return entity.name
