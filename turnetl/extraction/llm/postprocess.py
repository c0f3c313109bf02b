"""Of what a model names and says: each once, and nothing that nobody would look for."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode

from turnetl.extraction import stoplist
from turnetl.model import Entity


def united(before: Iterable[EntityNode], later: Iterable[EntityNode]) -> list[EntityNode]:
    """Return the things of both, each once: as it was named last, unless that says no kind."""
    nodes = {node.uuid: node for node in before}
    for node in later:
        known = nodes.get(node.uuid)
        if known is None or len(node.labels) >= len(known.labels):
            nodes[node.uuid] = node
    return list(nodes.values())


def later_wins(before: list[EntityEdge], later: list[EntityEdge]) -> list[EntityEdge]:
    """Return the facts of both; of a kind between two things only those that were said last.

    The model says most of what it said before again, seldom in the same words. If it says less of a
    kind than before, it left some of it out: then both stay.
    """
    earlier, said = Counter(map(_kind, before)), Counter(map(_kind, later))
    left = [edge for edge in before if said[_kind(edge)] < earlier[_kind(edge)]]
    return [*left, *later]


def _kind(edge: EntityEdge) -> tuple[str, str, str]:
    return edge.source_node_uuid, edge.name, edge.target_node_uuid


def sifted(
    nodes: Sequence[EntityNode], *, all_of_them: bool
) -> tuple[list[EntityNode], Mapping[str, str]]:
    """Return the things that somebody may look for, and why the others are none, by key.

    Without instructions all of them: then the graph is Graphiti's own.
    """
    if all_of_them:
        return list(nodes), {}
    reasons = stoplist.reasons([node.name for node in nodes])
    told = [(node, reason) for node, reason in zip(nodes, reasons, strict=True)]
    kept = [node for node, reason in told if reason is None]
    return kept, {node.uuid: reason for node, reason in told if reason is not None}


def not_named(made: Iterable[EntityNode], named: Iterable[Entity]) -> list[EntityNode]:
    mine = {one.uuid for one in named}
    return [node for node in made if node.uuid not in mine]


def hung(edges: Iterable[EntityEdge], things: Iterable[EntityNode]) -> list[EntityEdge]:
    """Return the facts about things that are there.

    One that has lost an end hangs on another thing that its sentence names, the longest name first:
    "the user wants the cart to use sqlite" is about the cart. With no such thing it goes.
    """
    names = {node.uuid: node.name.casefold() for node in things}
    known = dict(sorted(names.items(), key=lambda one: (-len(one[1]), one[0])))
    return [found for edge in edges if (found := _on_known(edge, known))]


def worth_a_name(names: list[str]) -> list[str]:
    reasons = stoplist.reasons(names)
    return [name for name, reason in zip(names, reasons, strict=True) if reason is None]


def _on_known(edge: EntityEdge, known: Mapping[str, str]) -> EntityEdge | None:
    """Return the fact with two ends that are known, by the longest name first, if there are."""
    source, target = edge.source_node_uuid, edge.target_node_uuid
    if source in known and target in known:
        return edge
    other = source if source in known else target
    if other not in known:
        return None
    fact = edge.fact.casefold()
    named = (uuid for uuid, name in known.items() if uuid != other and _says(fact, name))
    instead = next(named, None)
    if instead is None:
        return None
    lost = "target_node_uuid" if other == source else "source_node_uuid"
    return edge.model_copy(update={lost: instead})


def _says(fact: str, name: str) -> bool:
    """Whether the name stands there by itself: `go` is not in "good"."""
    # Among letters of a script without blanks a name stands by itself, too.
    alone = rf"(?<!\w){re.escape(name)}(?!\w)"
    return name in fact and re.search(alone, fact, re.ASCII) is not None
