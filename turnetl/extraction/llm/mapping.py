"""Maps the nodes and edges that Graphiti's building blocks return to the changes of a turn."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode

from turnetl.base.model import Entity, Fact, Vector
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.overlay import Overlay

KnownVector = Callable[[str], Vector | None]
"""Returns the vector of a text if it was embedded already."""
Item = TypeVar("Item", Entity, Fact)


def resolved(
    nodes: Sequence[EntityNode],
    edges: Sequence[EntityEdge],
    group: GroupView,
    *,
    known: KnownVector,
    now: datetime,
) -> Resolved:
    """Return what is new and what differs from the group; created_at and expired_at are `now`.

    There may be several copies of one node or edge, each changed by another step. They are merged,
    later ones over earlier ones, so that no label and no turn is lost.
    """
    entities = _merge_entities(map(convert.from_node, nodes))
    facts = _merge_facts(map(convert.from_edge, edges))
    return Resolved(
        entities=_changed(
            [_entity(entity, group.entity(entity.uuid), known, now) for entity in entities],
            group.entity,
        ),
        facts=_changed(
            [_fact(fact, group.fact(fact.uuid), known, now) for fact in facts], group.fact
        ),
        mentions=tuple(sorted({node.uuid for node in nodes})),
    )


def from_overlay(overlay: Overlay, mentions: Sequence[Sequence[str]]) -> Resolved:
    """Return the changes of all chunks of a turn.

    Args:
        overlay: the group with the changes of the chunks.
        mentions: by chunk, the uuids of the entities that it mentions.
    """
    mentioned_in: dict[str, tuple[int, ...]] = {}
    for number, uuids in enumerate(mentions):
        mentioned_in |= {uuid: (*mentioned_in.get(uuid, ()), number) for uuid in uuids}
    return Resolved(
        entities=(*_by_uuid(overlay.new.entities), *_by_uuid(overlay.changed_entities)),
        facts=(*_by_uuid(overlay.new.facts), *_by_uuid(overlay.changed_facts)),
        mentions=tuple(sorted(mentioned_in)),
        mentioned_in=mentioned_in,
    )


def not_among(nodes: Iterable[EntityNode], others: Iterable[EntityNode]) -> list[EntityNode]:
    """Return the nodes whose uuids are not among the others', each once."""
    seen = {node.uuid: node for node in others}
    return [node for node in nodes if seen.setdefault(node.uuid, node) is node]


def _merge_entities(copies: Iterable[Entity]) -> list[Entity]:
    merged: dict[str, Entity] = {}
    for copy in copies:
        earlier = merged.get(copy.uuid, copy)
        labels = tuple(sorted({*earlier.labels, *copy.labels}))
        merged[copy.uuid] = replace(copy, labels=labels)
    return list(merged.values())


def _merge_facts(copies: Iterable[Fact]) -> list[Fact]:
    merged: dict[str, Fact] = {}
    for copy in copies:
        earlier = merged.get(copy.uuid, copy)
        turns = tuple(dict.fromkeys((*earlier.turns, *copy.turns)))
        merged[copy.uuid] = replace(
            copy,
            turns=turns,
            invalid_at=copy.invalid_at or earlier.invalid_at,
            expired_at=copy.expired_at or earlier.expired_at,
        )
    return list(merged.values())


def _entity(entity: Entity, before: Entity | None, known: KnownVector, now: datetime) -> Entity:
    if before is None:
        return replace(entity, created_at=now, embedding=known(entity.name))
    return replace(entity, created_at=before.created_at, embedding=before.embedding)


def _fact(fact: Fact, before: Fact | None, known: KnownVector, now: datetime) -> Fact:
    """Return the fact with the run's times: Graphiti uses its own clock to invalidate one."""
    if before is None:
        expired = now if fact.expired_at is not None else None
        return replace(fact, created_at=now, expired_at=expired, embedding=known(fact.text))
    expired = before.expired_at or (now if fact.expired_at is not None else None)
    return replace(fact, expired_at=expired, embedding=before.embedding)


def _by_uuid(items: Iterable[Item]) -> list[Item]:
    return sorted(items, key=lambda item: item.uuid)


def _changed(items: Iterable[Item], before: Callable[[str], Item | None]) -> tuple[Item, ...]:
    """Return new and changed items, new ones first, then by uuid.

    The order is that in which a graph returns the items of a turn when it is loaded again.
    """
    changed = [item for item in items if item != before(item.uuid)]
    return tuple(sorted(changed, key=lambda item: (before(item.uuid) is not None, item.uuid)))
