"""What a search covers: the nodes and edges of the searched groups, with comparable vectors."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from turnetl.base.graph_model import (
    Community,
    EpisodeNode,
    GroupContents,
    GroupProfile,
    Mention,
    Subgraphs,
)
from turnetl.base.model import Entity, Fact, GroupId, Vector
from turnetl.llm.embedders.port import Embedder

Embedded = TypeVar("Embedded", Entity, Fact, Community)

_BYTES = 4
"""Of a float32."""


@dataclass(frozen=True, slots=True)
class SearchedGroup:
    """A group as it was loaded."""

    contents: GroupContents
    subgraphs: Subgraphs


@dataclass(frozen=True, slots=True)
class SearchedGraph:
    """Nodes and edges of all searched groups, by group, then in order of creation."""

    groups: tuple[GroupId, ...]
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    episodes: tuple[EpisodeNode, ...]
    mentions: tuple[Mention, ...]
    communities: tuple[Community, ...]

    @classmethod
    def of(cls, groups: Sequence[SearchedGroup], embedder: Embedder) -> "SearchedGraph":
        """Merge the groups. A vector that is not one of this embedder is dropped."""
        ordered = sorted(groups, key=lambda group: group.contents.group_id)
        return cls(
            groups=tuple(group.contents.group_id for group in ordered),
            entities=tuple(
                _comparable(entity, group.contents.profile, embedder)
                for group in ordered
                for entity in group.contents.entities
            ),
            facts=tuple(
                _comparable(fact, group.contents.profile, embedder)
                for group in ordered
                for fact in group.contents.facts
            ),
            episodes=tuple(node for group in ordered for node in group.subgraphs.episodes),
            mentions=tuple(edge for group in ordered for edge in group.subgraphs.mentions),
            communities=tuple(node for group in ordered for node in group.subgraphs.communities),
        )

    async def with_vectors(
        self, embedder: Embedder, *, entities: bool, facts: bool, communities: bool
    ) -> "SearchedGraph":
        """Return the graph with a vector for each value of these kinds; missing ones are made."""
        graph = self
        if entities:
            graph = replace(graph, entities=await _embedded(graph.entities, _name, embedder))
        if facts:
            graph = replace(graph, facts=await _embedded(graph.facts, _text, embedder))
        if communities:
            named = await _embedded(graph.communities, _name, embedder)
            graph = replace(graph, communities=named)
        return graph


def _comparable(value: Embedded, profile: GroupProfile | None, embedder: Embedder) -> Embedded:
    """Return the value, without its vector if that cannot be compared with the query's."""
    is_comparable = (
        profile is not None
        and profile.embedder == embedder.name
        and profile.dimensions == embedder.dimensions
        and value.embedding is not None
        # Another program may have written to the group.
        and len(value.embedding) == embedder.dimensions * _BYTES
    )
    return value if is_comparable else replace(value, embedding=None)


async def _embedded(
    values: Iterable[Embedded], text: Callable[[Embedded], str], embedder: Embedder
) -> tuple[Embedded, ...]:
    kept = tuple(values)
    missing = [text(value) for value in kept if value.embedding is None]
    if not missing:
        return kept
    vectors = iter(await embedder.embed(missing))
    return tuple(
        value if value.embedding is not None else _with_vector(value, next(vectors))
        for value in kept
    )


def _with_vector(value: Embedded, vector: Vector) -> Embedded:
    return replace(value, embedding=vector)


def _name(node: Entity | Community) -> str:
    return node.name


def _text(fact: Fact) -> str:
    return fact.text
