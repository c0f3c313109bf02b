"""From Graphiti's nodes and edges, as its building blocks leave them, to what a turn changes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode

from turnetl.extraction.port import Resolved
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.overlay import Overlay
from turnetl.model import Entity, Fact, Vector

Known = Callable[[str], Vector | None]
"""The vector of a text, if it was embedded already."""
Thing = TypeVar("Thing", Entity, Fact)


def resolved(
    nodes: Sequence[EntityNode],
    edges: Sequence[EntityEdge],
    group: GroupView,
    *,
    known: Known,
    now: datetime,
) -> Resolved:
    """Return what is new and what differs from the group; times of writing are `now`.

    The same thing may come in several copies, each changed by another step: they are laid over one
    another, later ones on top, so that no label and no turn is lost.
    """
    entities = _entities(map(convert.from_node, nodes))
    facts = _facts(map(convert.from_edge, edges))
    return Resolved(
        entities=_new_first(
            [_entity(entity, group.entity(entity.uuid), known, now) for entity in entities],
            group.entity,
        ),
        facts=_new_first(
            [_fact(fact, group.fact(fact.uuid), known, now) for fact in facts], group.fact
        ),
        mentions=tuple(sorted({node.uuid for node in nodes})),
    )


def of_draft(draft: Overlay, mentions: Sequence[Sequence[str]]) -> Resolved:
    """Return what the parts of a turn do together; `mentions` are what each of them speaks of."""
    said_in: dict[str, tuple[int, ...]] = {}
    for number, uuids in enumerate(mentions):
        said_in |= {uuid: (*said_in.get(uuid, ()), number) for uuid in uuids}
    return Resolved(
        entities=(*_by_key(draft.new.entities), *_by_key(draft.changed_entities)),
        facts=(*_by_key(draft.new.facts), *_by_key(draft.changed_facts)),
        mentions=tuple(sorted(said_in)),
        mentioned_in=said_in,
    )


def not_among(nodes: Iterable[EntityNode], others: Iterable[EntityNode]) -> list[EntityNode]:
    """Return the nodes whose keys are not among the others', each once."""
    kept = {node.uuid: node for node in others}
    return [node for node in nodes if kept.setdefault(node.uuid, node) is node]


def _entities(copies: Iterable[Entity]) -> list[Entity]:
    merged: dict[str, Entity] = {}
    for copy in copies:
        below = merged.get(copy.uuid, copy)
        labels = tuple(sorted({*below.labels, *copy.labels}))
        merged[copy.uuid] = replace(copy, labels=labels)
    return list(merged.values())


def _facts(copies: Iterable[Fact]) -> list[Fact]:
    merged: dict[str, Fact] = {}
    for copy in copies:
        below = merged.get(copy.uuid, copy)
        turns = tuple(dict.fromkeys((*below.turns, *copy.turns)))
        merged[copy.uuid] = replace(
            copy,
            turns=turns,
            invalid_at=copy.invalid_at or below.invalid_at,
            expired_at=copy.expired_at or below.expired_at,
        )
    return list(merged.values())


def _entity(entity: Entity, before: Entity | None, known: Known, now: datetime) -> Entity:
    if before is None:
        return replace(entity, created_at=now, embedding=known(entity.name))
    return replace(entity, created_at=before.created_at, embedding=before.embedding)


def _fact(fact: Fact, before: Fact | None, known: Known, now: datetime) -> Fact:
    """Graphiti reads its own clock where it retires a fact."""
    if before is None:
        expired = now if fact.expired_at is not None else None
        return replace(fact, created_at=now, expired_at=expired, embedding=known(fact.text))
    expired = before.expired_at or (now if fact.expired_at is not None else None)
    return replace(fact, expired_at=expired, embedding=before.embedding)


def _by_key(things: Iterable[Thing]) -> list[Thing]:
    return sorted(things, key=lambda thing: thing.uuid)


def _new_first(things: Iterable[Thing], before: Callable[[str], Thing | None]) -> tuple[Thing, ...]:
    """Drop what did not change. By uuid: so a turn's things stand when a graph is loaded again."""
    different = [thing for thing in things if thing != before(thing.uuid)]
    return tuple(sorted(different, key=lambda thing: (before(thing.uuid) is not None, thing.uuid)))
