"""Clusters of entities that valid facts connect: by Leiden, or by label propagation.

In label propagation every entity takes the label that its neighbours have most. Graphiti's own
version changes all labels at the same time and may alternate between two states forever. Here one
label changes at a time, and only if that makes the connections within the communities heavier, so
that it ends.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import assert_never

from turnetl.base.errors import BadUsage, RunStopped
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


Cluster = tuple[str, ...]
"""Uuids of its entities, sorted; two at least."""

_LIBRARY = "graspologic_native"
_SEED = 1
_ITERATIONS = 2
_MIN_MEMBERS = 2
_OUT_OF_TIME = (
    "the time was up before the communities were found, and none was changed: give `--max-seconds` "
    "more, or use `leiden`"
)
_INSTALL = (
    "the algorithm `leiden` is not installed: run `pip install 'turnetl[communities]'`, or use "
    "`label-propagation`"
)


class Algorithm(StrEnum):
    """How communities are found."""

    LEIDEN = "leiden"
    LABEL_PROPAGATION = "label-propagation"


def check_clustering(algorithm: Algorithm, resolution: float) -> None:
    """Raise BadUsage if the resolution is not positive, or Leiden is not installed."""
    if not (resolution > 0 and math.isfinite(resolution)):
        raise BadUsage(f"the resolution of communities must be positive, not {resolution:g}")
    if algorithm is Algorithm.LEIDEN and find_spec(_LIBRARY) is None:
        raise BadUsage(_INSTALL)


def clusters(
    network: EntityNetwork,
    algorithm: Algorithm = Algorithm.LEIDEN,
    *,
    resolution: float = 1.0,
    is_out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[Cluster, ...]:
    """Return the clusters, the largest first, then in the order of their uuids.

    No entity is in two of them. The same network gives the same clusters.

    Args:
        resolution: positive; a higher one makes Leiden find more and smaller clusters. Label
            propagation has none.
        is_out_of_time: whether to give up. Leiden is not interrupted: it takes 0.03 s for 5,000
            entities.

    Raises:
        RunStopped: the time was up before the labels had settled.
    """
    check_clustering(algorithm, resolution)
    if not network.entities:
        return ()
    labels: Mapping[str, object]
    match algorithm:
        case Algorithm.LEIDEN:
            labels = _leiden(network, resolution)
        case Algorithm.LABEL_PROPAGATION:
            labels = propagate_labels(network, check=lambda: _check_time(is_out_of_time))
        case _:
            assert_never(algorithm)
    return _members(labels)


def _check_time(is_out_of_time: Callable[[], bool]) -> None:
    if is_out_of_time():
        raise RunStopped(_OUT_OF_TIME)


def _leiden(network: EntityNetwork, resolution: float) -> Mapping[str, int]:
    from graspologic_native import leiden  # noqa: PLC0415 - an extra of the package

    # The result depends on the order of the edges and on the seed: both are fixed.
    edges = [(one, other, float(weight)) for (one, other), weight in network.weights.items()]
    _, labels = leiden(edges, resolution=resolution, seed=_SEED, iterations=_ITERATIONS)
    found: Mapping[str, int] = labels
    return found


def _members(labels: Mapping[str, object]) -> tuple[Cluster, ...]:
    found: dict[object, list[str]] = {}
    for uuid in sorted(labels):
        found.setdefault(labels[uuid], []).append(uuid)
    large = (tuple(members) for members in found.values() if len(members) >= _MIN_MEMBERS)
    return tuple(sorted(large, key=lambda members: (-len(members), members)))


MAX_ROUNDS = 100
"""After which the labels are taken as they are. Real groups need fewer than ten."""

CHECKED = 1_000
"""Entities that are visited between two checks."""


def propagate_labels(
    network: EntityNetwork,
    *,
    max_rounds: int = MAX_ROUNDS,
    check: Callable[[], None] = lambda: None,
) -> Mapping[str, str]:
    """Return the label of each entity: the uuid of one that had it first.

    Args:
        max_rounds: in each of which every entity is visited once, in the order of the uuids.
        check: called at least once per `CHECKED` entities; what it raises ends the propagation.
    """
    neighbours = network.neighbours()
    labels = {uuid: uuid for uuid in network.entities}
    for _ in range(max_rounds):
        changed = False
        for place, uuid in enumerate(network.entities):
            if place % CHECKED == 0:
                check()
            label = _heaviest(neighbours[uuid], labels, labels[uuid])
            changed |= label != labels[uuid]
            labels[uuid] = label
        if not changed:
            break
    return labels


def _heaviest(neighbours: Mapping[str, int], labels: Mapping[str, str], own: str) -> str:
    """Return the label with the greatest weight: of several its own, or else the smallest."""
    weights: dict[str, int] = {}
    for neighbour, weight in neighbours.items():
        weights[labels[neighbour]] = weights.get(labels[neighbour], 0) + weight
    return min(weights, key=lambda label: (-weights[label], label != own, label))
