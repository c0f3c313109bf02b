"""Label propagation: every entity takes the label that its neighbours have most.

Graphiti's own version changes all labels at the same time and may alternate between two states
forever. Here one label changes at a time, and only if that makes the connections within the
communities heavier, so that it ends.
"""

from collections.abc import Callable, Mapping

from turnetl.summaries.communities.network import EntityNetwork

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
        network: the entities.
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
