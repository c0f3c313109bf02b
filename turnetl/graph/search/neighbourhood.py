"""What is near in the graph: breadth-first search, distance to a center, number of mentions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from turnetl.base.graph_model import Mention
from turnetl.base.model import Fact

_CENTER, _ADJACENT, _ELSEWHERE = 10.0, 1.0, 0.0
"""Graphiti's scores of the center itself, of an entity with a fact about both, and of others."""


class Neighbourhood:
    """The edges of a graph, by where they start: facts, and mentions of entities in episodes."""

    def __init__(self, facts: Iterable[Fact], mentions: Iterable[Mention]) -> None:
        """Keep the edges.

        Args:
            facts: in the order in which a search follows them.
            mentions: as facts; two edges between the same nodes count twice.
        """
        self._facts: dict[str, list[Fact]] = defaultdict(list)
        self._mentioned: dict[str, list[str]] = defaultdict(list)
        self._mentions: Counter[str] = Counter()
        for fact in facts:
            self._facts[fact.source].append(fact)
        for mention in mentions:
            self._mentioned[mention.episode].append(mention.entity)
            self._mentions[mention.entity] += 1

    def entities_within(self, depth: int, origins: Iterable[str]) -> list[str]:
        """Return the entities that 1 to `depth` edges lead to, nearest first, each once.

        Edges are followed in their direction. An origin is among them if edges lead to it.

        Args:
            depth: number of edges.
            origins: uuids of entities or episodes.
        """
        passed = self._nodes_within(depth - 1, origins)
        return list(dict.fromkeys(entity for node in passed for entity in self._targets(node)))

    def facts_within(self, depth: int, origins: Iterable[str]) -> list[Fact]:
        """Return the facts that are the 1st to `depth`-th edge from an origin, nearest first."""
        passed = self._nodes_within(depth - 1, origins)
        return [fact for node in passed for fact in self._facts.get(node, ())]

    def closeness(self, entity: str, center: str) -> float:
        """Return Graphiti's score of an entity by its distance to the center."""
        if entity == center:
            return _CENTER
        one_way = any(fact.target == center for fact in self._facts.get(entity, ()))
        other_way = any(fact.target == entity for fact in self._facts.get(center, ()))
        return _ADJACENT if one_way or other_way else _ELSEWHERE

    def mentions(self, entity: str) -> int:
        """Return how many episodes mention the entity."""
        return self._mentions[entity]

    def _nodes_within(self, depth: int, origins: Iterable[str]) -> Sequence[str]:
        """Return the origins and the nodes that at most `depth` edges lead to, nearest first."""
        frontier = list(dict.fromkeys(origins)) if depth >= 0 else []
        found = dict.fromkeys(frontier)
        for _ in range(depth):
            targets = dict.fromkeys(chain.from_iterable(map(self._targets, frontier)))
            frontier = [node for node in targets if node not in found]
            found |= dict.fromkeys(frontier)
        return list(found)

    def _targets(self, node: str) -> Iterator[str]:
        yield from self._mentioned.get(node, ())
        yield from (fact.target for fact in self._facts.get(node, ()))
