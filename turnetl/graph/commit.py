"""What one turn writes, as rows: the same for both stores, in Graphiti's own properties.

The stores turn these rows into Cypher and nothing else. Vectors leave as lists of float32 values,
times as aware UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

from turnetl import ids
from turnetl.errors import GraphRefused
from turnetl.model import (
    Attribute,
    Change,
    Entity,
    Fact,
    GroupId,
    Receipt,
    SessionId,
    TurnId,
    Usage,
    Vector,
)

ENTITY_LABEL = "Entity"
SOURCE = "message"
SOURCE_DESCRIPTION = "a turn of a session with a coding agent"

# Graphiti flattens attributes into the properties of a Neo4j node; these names are its own.
ENTITY_PROPERTIES = frozenset(
    ("uuid", "name", "group_id", "summary", "created_at", "name_embedding", "labels")
)
FACT_PROPERTIES = frozenset(
    (
        *("uuid", "source_node_uuid", "target_node_uuid", "name", "fact", "group_id", "episodes"),
        *("created_at", "expired_at", "valid_at", "invalid_at", "reference_time"),
        "fact_embedding",
    )
)

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


def episode_row(change: Change, now: datetime) -> Row:
    turn = change.episode.turn
    return {
        "uuid": turn.turn_id,
        "name": f"{turn.session_id} {turn.ordinal}",
        "group_id": turn.group_id,
        "source": SOURCE,
        "source_description": SOURCE_DESCRIPTION,
        "content": change.episode.text,
        "entity_edges": [fact.uuid for fact in change.facts],
        "created_at": now,
        "valid_at": started_at(change),
    }


def entity_row(entity: Entity) -> Row:
    """Return Graphiti's properties of an entity, without the attributes."""
    return {
        "uuid": entity.uuid,
        "name": entity.name,
        "group_id": entity.group_id,
        "summary": entity.summary,
        "created_at": entity.created_at,
        "name_embedding": floats(entity.embedding),
        "labels": [ENTITY_LABEL, *entity.labels],
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
        "fact_embedding": floats(fact.embedding),
    }


def attributes(of: Entity | Fact) -> dict[str, Attribute]:
    """Return the attributes that do not collide with a property of Graphiti's, by name."""
    reserved = ENTITY_PROPERTIES if isinstance(of, Entity) else FACT_PROPERTIES
    return {name: value for name, value in sorted(of.attributes.items()) if name not in reserved}


def mentions(change: Change) -> list[Link]:
    turn = change.episode.turn_id
    return [Link(ids.edge_id("MENTIONS", turn, uuid), turn, uuid) for uuid in change.mentions]


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


def saga_link(change: Change) -> Link:
    turn = change.episode.turn
    saga = ids.saga_id(turn.group_id, turn.session_id)
    return Link(ids.edge_id("HAS_EPISODE", saga, turn.turn_id), saga, turn.turn_id)


def next_links(change: Change) -> list[Link]:
    """Return the one or two NEXT_EPISODE links that the turn brings."""
    here = change.episode.turn_id
    pairs = [(change.previous_turn, here), (here, change.next_turn)]
    return [_next(before, after) for before, after in pairs if before and after]


def outdated_links(change: Change) -> list[Link]:
    """Return the link that a late turn breaks open, between the turns on both its sides."""
    if not (change.previous_turn and change.next_turn):
        return []
    return [_next(change.previous_turn, change.next_turn)]


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
        "recipe": receipt.recipe,
        "committed_at": receipt.committed_at,
        "started_at": receipt.started_at,
        "ended_at": receipt.ended_at,
        "archive": receipt.archive,
        "first_line": receipt.first_line,
        "last_line": receipt.last_line,
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "nodes_new": receipt.nodes_new,
        "edges_new": receipt.edges_new,
        "edges_retired": receipt.edges_retired,
        "before": before_images(change),
    }


def before_images(change: Change) -> str:
    """Return, as JSON, all that is needed to take the turn back: vectors can be made again."""
    changed = {entity.uuid for entity in change.entities_before}
    altered = {fact.uuid for fact in change.facts_before}
    images = {
        "entities": [_image(entity) for entity in change.entities_before],
        "facts": [_image(fact) for fact in change.facts_before],
        "entities_new": [e.uuid for e in change.entities if e.uuid not in changed],
        "facts_new": [f.uuid for f in change.facts if f.uuid not in altered],
    }
    return msgspec.json.encode(images, order="sorted").decode()


def receipt_from(row: Mapping[str, Any]) -> Receipt:
    """Return the receipt in a row of `schema.RECEIPTS`; times aware already."""
    return Receipt(
        turn_id=TurnId(row["turn_id"]),
        group_id=GroupId(row["group_id"]),
        session_id=SessionId(row["session_id"]),
        ordinal=row["ordinal"],
        run_id=row["run_id"],
        content_hash=row["content_hash"],
        recipe=row["recipe"],
        committed_at=row["committed_at"],
        started_at=row["started_at"],
        ended_at=row.get("ended_at"),
        archive=row["archive"],
        first_line=row["first_line"],
        last_line=row["last_line"],
        usage=Usage(row["calls"], row["prompt_tokens"], row["completion_tokens"], row["cost"]),
        nodes_new=row["nodes_new"],
        edges_new=row["edges_new"],
        edges_retired=row["edges_retired"],
    )


def entity_from(row: Mapping[str, Any], extra: Mapping[str, Any], vector: Vector | None) -> Entity:
    """Return the entity in a row of Graphiti's properties; `extra` are its attributes."""
    return Entity(
        uuid=row["uuid"],
        group_id=GroupId(row["group_id"]),
        name=row["name"],
        labels=tuple(sorted({label for label in row["labels"] or () if label != ENTITY_LABEL})),
        summary=row.get("summary") or "",
        created_at=row["created_at"],
        attributes=_plain(extra, ENTITY_PROPERTIES),
        embedding=vector,
    )


def fact_from(row: Mapping[str, Any], extra: Mapping[str, Any], vector: Vector | None) -> Fact:
    """Return the fact in a row of Graphiti's properties; `extra` are its attributes."""
    return Fact(
        uuid=row["uuid"],
        group_id=GroupId(row["group_id"]),
        source=row["source_node_uuid"],
        target=row["target_node_uuid"],
        name=row["name"],
        text=row["fact"],
        turns=tuple(TurnId(turn) for turn in row.get("episodes") or ()),
        created_at=row["created_at"],
        valid_at=row.get("valid_at"),
        invalid_at=row.get("invalid_at"),
        expired_at=row.get("expired_at"),
        reference_time=row.get("reference_time"),
        attributes=_plain(extra, FACT_PROPERTIES),
        embedding=vector,
    )


def floats(vector: Vector | None) -> list[float]:
    """Return the vector as Graphiti keeps it.

    Raises:
        ValueError: there is none; nothing is committed without its vector.
    """
    if vector is None:
        raise ValueError("an entity or a fact has no embedding")
    values: list[float] = np.frombuffer(vector, dtype="<f4").tolist()
    return values


def vector_of(values: list[float] | None) -> Vector | None:
    return None if values is None else Vector(np.asarray(values, dtype="<f4").tobytes())


def _next(before: TurnId, after: TurnId) -> Link:
    return Link(ids.edge_id("NEXT_EPISODE", before, after), before, after)


def _image(of: Entity | Fact) -> Row:
    row = entity_row(of) if isinstance(of, Entity) else fact_row(of)
    row.pop("name_embedding", None)
    row.pop("fact_embedding", None)
    return {**row, "attributes": attributes(of)}


def _plain(extra: Mapping[str, Any], reserved: frozenset[str]) -> dict[str, Attribute]:
    return {
        name: value
        for name, value in sorted(extra.items())
        if name not in reserved and isinstance(value, (str, int, float, bool))
    }
