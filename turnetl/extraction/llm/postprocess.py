"""Postprocesses extracted nodes and edges: merges reflexion passes and applies the stoplist."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode

from turnetl.base.model import Entity
from turnetl.extraction import stoplist
from turnetl.extraction.discard_reasons import DiscardReason


def merge_nodes(earlier: Iterable[EntityNode], later: Iterable[EntityNode]) -> list[EntityNode]:
    """Return the nodes of both, each once: the later version, unless it lost its label."""
    nodes = {node.uuid: node for node in earlier}
    for node in later:
        known = nodes.get(node.uuid)
        if known is None or len(node.labels) >= len(known.labels):
            nodes[node.uuid] = node
    return list(nodes.values())


def merge_edges(earlier: list[EntityEdge], later: list[EntityEdge]) -> list[EntityEdge]:
    """Return the edges of both; for the same entities and relation only the later ones.

    The model repeats most facts, rarely in the same words. If it states fewer facts of a relation
    than before, it omitted some: then both are kept.
    """
    earlier_counts = Counter(map(_relation_key, earlier))
    later_counts = Counter(map(_relation_key, later))
    kept = [
        edge
        for edge in earlier
        if later_counts[_relation_key(edge)] < earlier_counts[_relation_key(edge)]
    ]
    return [*kept, *later]


def _relation_key(edge: EntityEdge) -> tuple[str, str, str]:
    return edge.source_node_uuid, edge.name, edge.target_node_uuid


def apply_stoplist(
    nodes: Sequence[EntityNode], *, is_enabled: bool
) -> tuple[list[EntityNode], Mapping[str, DiscardReason]]:
    """Return the kept nodes, and by uuid the reasons why the others are discarded.

    Disabled if there are no instructions: then the graph is the same as Graphiti's.
    """
    if not is_enabled:
        return list(nodes), {}
    reasons = stoplist.reasons([node.name for node in nodes])
    pairs = list(zip(nodes, reasons, strict=True))
    kept = [node for node, reason in pairs if reason is None]
    return kept, {node.uuid: reason for node, reason in pairs if reason is not None}


def not_extracted(endpoints: Iterable[EntityNode], entities: Iterable[Entity]) -> list[EntityNode]:
    """Return the endpoints that are not among the extracted entities."""
    extracted = {entity.uuid for entity in entities}
    return [node for node in endpoints if node.uuid not in extracted]


def reattach(edges: Iterable[EntityEdge], nodes: Iterable[EntityNode]) -> list[EntityEdge]:
    """Return the edges between kept nodes; one that lost an endpoint is attached to another node.

    The other node is the one with the longest name that the edge's sentence contains: "the user
    wants the cart to use sqlite" is about the cart. Without such a node the edge is discarded.
    """
    names = {node.uuid: node.name.casefold() for node in nodes}
    longest_first = dict(sorted(names.items(), key=lambda item: (-len(item[1]), item[0])))
    return [kept for edge in edges if (kept := _with_known_endpoints(edge, longest_first))]


def keep_meaningful(names: list[str]) -> list[str]:
    """Return the names that the stoplist does not discard."""
    reasons = stoplist.reasons(names)
    return [name for name, reason in zip(names, reasons, strict=True) if reason is None]


def _with_known_endpoints(edge: EntityEdge, names: Mapping[str, str]) -> EntityEdge | None:
    """Return the edge with two known endpoints, or None. `names`: by uuid, longest first."""
    source, target = edge.source_node_uuid, edge.target_node_uuid
    if source in names and target in names:
        return edge
    known_end = source if source in names else target
    if known_end not in names:
        return None
    sentence = edge.fact.casefold()
    mentioned = (
        uuid for uuid, name in names.items() if uuid != known_end and _contains(sentence, name)
    )
    replacement = next(mentioned, None)
    if replacement is None:
        return None
    lost_end = "target_node_uuid" if known_end == source else "source_node_uuid"
    return edge.model_copy(update={lost_end: replacement})


def _contains(sentence: str, name: str) -> bool:
    """Whether the sentence contains the name as a whole word: "good" does not contain `go`."""
    # ASCII only: in a script without spaces, letters next to a name do not extend it.
    whole_word = rf"(?<!\w){re.escape(name)}(?!\w)"
    return name in sentence and re.search(whole_word, sentence, re.ASCII) is not None
