"""What one turn writes, as rows: the same for both stores, in Graphiti's own properties.

The stores turn these rows into Cypher and nothing else. Vectors leave as lists of float32 values,
times as aware UTC. The way back is `turnetl.graph.values`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec

from turnetl import ids
from turnetl.errors import GraphRefused
from turnetl.graph import names
from turnetl.llm.vectors import floats
from turnetl.model import Attribute, Change, Entity, Fact, Receipt, Vector

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """A link without content."""

    uuid: str
    source: str
    target: str


def incomplete(group: str) -> GraphRefused:
    """The error for a turn that builds on what is not, or no longer, in the graph."""
    return GraphRefused(
        f"group `{group}` does not hold what a turn refers to: something else changed the graph; "
        "nothing of the turn was written, run again"
    )


def started_at(change: Change) -> datetime:
    """Return the reference time of the turn.

    Raises:
        ValueError: it has none, so it must not be committed.
    """
    when = change.episode.turn.started_at
    if when is None:
        raise ValueError(f"turn {change.episode.turn_id} has no time")
    return when


def episode_ids(change: Change) -> list[str]:
    """Return the keys of the turn's episodes, one a part, in order."""
    turn = change.episode.turn_id
    return [ids.part_id(turn, number) for number in range(len(change.episode.parts))]


def episode_rows(change: Change, now: datetime) -> list[Row]:
    """Return one row a part, in order, each a microsecond after the one before.

    The first has all facts of the turn: they name the turn, which is its key.
    """
    turn, parts = change.episode.turn, change.episode.parts
    return [
        {
            "uuid": uuid,
            "name": names.episode_name(turn, number, len(parts)),
            "group_id": turn.group_id,
            "source": names.SOURCE,
            "source_description": names.SOURCE_DESCRIPTION,
            "content": part,
            "entity_edges": [] if number else [fact.uuid for fact in change.facts],
            "created_at": now,
            "valid_at": started_at(change) + timedelta(microseconds=number),
        }
        for number, (uuid, part) in enumerate(zip(episode_ids(change), parts, strict=True))
    ]


def entity_row(entity: Entity) -> Row:
    """Return Graphiti's properties of an entity, without the attributes."""
    return {
        "uuid": entity.uuid,
        "name": entity.name,
        "group_id": entity.group_id,
        "summary": entity.summary,
        "created_at": entity.created_at,
        "name_embedding": _numbers(entity.embedding),
        "labels": [names.BASE_LABEL, *entity.labels],
    }


def fact_row(fact: Fact) -> Row:
    """Return Graphiti's properties of a fact, without the attributes."""
    return {
        "uuid": fact.uuid,
        "source_node_uuid": fact.source,
        "target_node_uuid": fact.target,
        "name": fact.name,
        "fact": fact.text,
        "group_id": fact.group_id,
        "episodes": list(fact.turns),
        "created_at": fact.created_at,
        "expired_at": fact.expired_at,
        "valid_at": fact.valid_at,
        "invalid_at": fact.invalid_at,
        "reference_time": fact.reference_time,
        "fact_embedding": _numbers(fact.embedding),
    }


def attributes(of: Entity | Fact) -> dict[str, Attribute]:
    """Return the attributes that do not collide with a property of Graphiti's, by name."""
    entity = isinstance(of, Entity)
    reserved = names.ENTITY_PROPERTIES if entity else names.FACT_PROPERTIES
    return {name: value for name, value in sorted(of.attributes.items()) if name not in reserved}


def mentions(change: Change) -> list[Link]:
    """Return a link from each part to each entity that it speaks of."""
    episodes = episode_ids(change)
    pairs = [
        (episodes[number], uuid)
        for uuid in change.mentions
        for number in change.mentioned_in.get(uuid, (0,))
    ]
    return [Link(ids.edge_id("MENTIONS", part, uuid), part, uuid) for part, uuid in pairs]


def saga_row(change: Change, now: datetime) -> Row:
    """Return the saga of the turn's session, as it is when it is new."""
    turn = change.episode.turn
    return {
        "uuid": ids.saga_id(turn.group_id, turn.session_id),
        "name": turn.session_id,
        "group_id": turn.group_id,
        "created_at": now,
        "summary": "",
    }


def saga_links(change: Change) -> list[Link]:
    """Return the links from the saga to the turn's episodes, in order."""
    turn = change.episode.turn
    saga = ids.saga_id(turn.group_id, turn.session_id)
    return [Link(ids.edge_id("HAS_EPISODE", saga, one), saga, one) for one in episode_ids(change)]


def next_links(change: Change) -> list[Link]:
    """Return the NEXT_EPISODE links that the turn brings: to it, from part to part, and on."""
    chain = [_previous(change), *episode_ids(change), change.next_turn]
    return [_next(before, after) for before, after in pairwise(chain) if before and after]


def outdated_links(change: Change) -> list[Link]:
    """Return the link that a late turn breaks open, between the turns on both its sides."""
    before = _previous(change)
    return [_next(before, change.next_turn)] if before and change.next_turn else []


def commit_row(change: Change, receipt: Receipt) -> Row:
    """Return the properties of the TurnCommit: `schema.RECEIPTS` and the before-images."""
    usage = receipt.usage
    return {
        "turn_id": receipt.turn_id,
        "group_id": receipt.group_id,
        "session_id": receipt.session_id,
        "ordinal": receipt.ordinal,
        "run_id": receipt.run_id,
        "content_hash": receipt.content_hash,
        "text_hash": receipt.text_hash,
        "parts": receipt.parts,
        "recipe": receipt.recipe,
        "committed_at": receipt.committed_at,
        "started_at": receipt.started_at,
        "ended_at": receipt.ended_at,
        "archive": receipt.archive,
        "first_line": receipt.first_line,
        "last_line": receipt.last_line,
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        # A store keeps whole numbers apart from others.
        "seconds": float(usage.seconds),
        "cost": None if usage.cost is None else float(usage.cost),
        "nodes_new": receipt.nodes_new,
        "edges_new": receipt.edges_new,
        "edges_invalidated": receipt.edges_invalidated,
        "before": before_images(change),
    }


def before_images(change: Change) -> str:
    """Return, as JSON, all that is needed to take the turn back: vectors can be made again."""
    changed = {entity.uuid for entity in change.entities_before}
    altered = {fact.uuid for fact in change.facts_before}
    images = {
        "episodes_new": episode_ids(change),
        "entities": [_image(entity) for entity in change.entities_before],
        "facts": [_image(fact) for fact in change.facts_before],
        "entities_new": [e.uuid for e in change.entities if e.uuid not in changed],
        "facts_new": [f.uuid for f in change.facts if f.uuid not in altered],
    }
    return msgspec.json.encode(images, order="sorted").decode()


def _previous(change: Change) -> str | None:
    """Return the last episode of the turn before."""
    before = change.previous_turn
    return ids.part_id(before, change.previous_parts - 1) if before else None


def _next(before: str, after: str) -> Link:
    return Link(ids.edge_id("NEXT_EPISODE", before, after), before, after)


def _image(of: Entity | Fact) -> Row:
    row = entity_row(of) if isinstance(of, Entity) else fact_row(of)
    row.pop("name_embedding", None)
    row.pop("fact_embedding", None)
    return {**row, "attributes": attributes(of)}


def _numbers(vector: Vector | None) -> list[float]:
    """Return the vector as Graphiti keeps it.

    Raises:
        ValueError: there is none; nothing is committed without its vector.
    """
    if vector is None:
        raise ValueError("an entity or a fact has no embedding")
    return floats(vector)
