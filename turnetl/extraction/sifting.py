"""Of what a model names and says: each once, and nothing that nobody would look for."""

from collections.abc import Iterable, Mapping, Sequence

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode

from turnetl.extraction import junk
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

    The model says most of what it said before again, seldom in the same words.
    """
    said = {_kind(edge) for edge in later}
    return [*(edge for edge in before if _kind(edge) not in said), *later]


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
    reasons = junk.reasons([node.name for node in nodes])
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
    known = {node.uuid: node.name.casefold() for node in things}
    by_length = sorted(known, key=lambda uuid: (-len(known[uuid]), uuid))
    return [found for edge in edges if (found := _on_known(edge, known, by_length))]


def worth_a_name(names: list[str]) -> list[str]:
    reasons = junk.reasons(names)
    return [name for name, reason in zip(names, reasons, strict=True) if reason is None]


def _on_known(
    edge: EntityEdge, known: Mapping[str, str], by_length: Sequence[str]
) -> EntityEdge | None:
    source, target = edge.source_node_uuid, edge.target_node_uuid
    if source in known and target in known:
        return edge
    other = source if source in known else target
    if other not in known:
        return None
    fact = edge.fact.casefold()
    instead = next((uuid for uuid in by_length if uuid != other and known[uuid] in fact), None)
    if instead is None:
        return None
    ends = {"source_node_uuid": instead, "target_node_uuid": other}
    if other == source:
        ends = {"source_node_uuid": other, "target_node_uuid": instead}
    return edge.model_copy(update=ends)
