"""The network in which communities are found: entities, connected by their valid facts."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from turnetl.base.model import Entity, Fact

_SCALE = 1_000_000
"""Weights are integers, so that sums do not depend on their order."""

Pair = tuple[str, str]
"""Uuids of two different entities, the smaller one first."""


@dataclass(frozen=True, slots=True)
class EntityNetwork:
    """Entities that at least one valid fact connects with another one."""

    entities: tuple[str, ...]
    """Uuids, sorted."""
    weights: Mapping[Pair, int]
    """How closely two entities are connected, by pair, sorted; positive."""

    def neighbours(self) -> dict[str, dict[str, int]]:
        """Return the weights by entity and neighbour, both sorted."""
        found: dict[str, dict[str, int]] = {uuid: {} for uuid in self.entities}
        for (one, other), weight in self.weights.items():
            found[one][other] = weight
            found[other][one] = weight
        return {uuid: dict(sorted(of_entity.items())) for uuid, of_entity in found.items()}


def entity_network(entities: Iterable[Entity], facts: Iterable[Fact]) -> EntityNetwork:
    """Return the network of a group.

    A fact that was invalidated, that connects an entity with itself, or that names an entity which
    is not given, connects nothing. Further facts about the same two entities count less and less,
    and the weight of a pair is divided by the square root of the product of their degrees: the user
    or a command that is connected with everything would merge all communities into one.

    Args:
        entities: of the group.
        facts: of the group.
    """
    known = {entity.uuid for entity in entities}
    counts = Counter(
        (min(fact.source, fact.target), max(fact.source, fact.target))
        for fact in facts
        if fact.invalid_at is None
        and fact.source != fact.target
        and fact.source in known
        and fact.target in known
    )
    degrees = Counter(uuid for pair in counts for uuid in pair)
    weights = {
        (one, other): _weight(counts[one, other], degrees[one] * degrees[other])
        for one, other in sorted(counts)
    }
    return EntityNetwork(tuple(sorted(degrees)), weights)


def _weight(facts: int, degrees: int) -> int:
    return max(1, round(_SCALE * (1 + math.log(facts)) / math.sqrt(degrees)))
