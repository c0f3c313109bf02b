"""The rows of a turn's commit: the same for both stores, with Graphiti's own properties.

The stores only turn these rows into Cypher. Vectors are lists of float32 values, times are
timezone-aware, in UTC. `turnetl.graph.from_rows` is the inverse.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import polars as pl

from turnetl.base import ids, schema
from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import (
    CommitRecord,
    Community,
    GroupProfile,
    Lease,
    Receipt,
    TurnRun,
)
from turnetl.base.ids import RecipeParts, final_group, recipe_digest
from turnetl.base.model import Attribute, Change, Entity, Fact, GroupId, SessionId, Usage, Vector
from turnetl.graph import graphiti_names
from turnetl.llm.embedders import floats

CURRENT = schema.RECEIPTS.version
"""The version of turnetl's data in a graph, recorded on every TurnGroup."""


def other_version(graph: str, version: int | None) -> GraphUnusable:
    """Return the error for a graph of another version; None: none is recorded, as before 4."""
    is_newer = version is not None and version > CURRENT
    recorded = "an older graph schema" if version is None else f"graph schema {version}"
    remedy = (
        "update turnetl, for example with `pip install -U turnetl`"
        if is_newer
        else "name a new graph with --graph, and ingest again; keep this one: the turnetl that "
        "wrote it reads it"
    )
    return GraphUnusable(
        f"graph `{graph}` was written by another version of turnetl ({recorded}; this version uses "
        f"{CURRENT}); {remedy}"
    )


RowDict = dict[str, Any]

# The properties of a TurnCommit that are no columns of `schema.RECEIPTS`.
SEQUENCE = "sequence"
"""The number of the commit, which the store assigns within the transaction."""
BEFORE_IMAGES = "before_images"
SUMMARIES = "summaries"


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A relationship without properties of its own."""

    uuid: str
    source: str
    target: str


def incomplete_graph(group: str) -> GraphUnusable:
    return GraphUnusable(
        f"group `{group}` does not hold an entity, fact or episode that the turn refers to: "
        "another program changed the graph; nothing of the turn was written, run again"
    )


def missing_member(group: str) -> GraphUnusable:
    return GraphUnusable(
        f"group `{group}` does not hold an entity of a community: another program changed the "
        "graph; nothing of these communities was written, run again"
    )


def started_at(change: Change) -> datetime:
    """Return the reference time of the turn; ValueError if it has none: it is not committed."""
    time = change.episode.turn.started_at
    if time is None:
        raise ValueError(f"turn {change.episode.turn_id} has no time")
    return time


def episode_ids(change: Change) -> list[str]:
    """Return the uuids of the turn's episodes, one per chunk, in order."""
    turn = change.episode.turn_id
    return [ids.chunk_id(turn, number) for number in range(len(change.episode.chunks))]


def episode_rows(change: Change, now: datetime) -> list[RowDict]:
    """Return one row per chunk, in order, each one microsecond later than the one before.

    The first row lists all facts of the turn, because facts refer to the turn, whose uuid it has.
    """
    turn, chunks = change.episode.turn, change.episode.chunks
    return [
        {
            "uuid": uuid,
            "name": graphiti_names.episode_name(turn, number, len(chunks)),
            "group_id": turn.group_id,
            "source": graphiti_names.SOURCE,
            "source_description": graphiti_names.SOURCE_DESCRIPTION,
            "content": chunk,
            "entity_edges": [] if number else [fact.uuid for fact in change.facts],
            "created_at": now,
            "valid_at": started_at(change) + timedelta(microseconds=number),
        }
        for number, (uuid, chunk) in enumerate(zip(episode_ids(change), chunks, strict=True))
    ]


def community_row(community: Community) -> RowDict:
    """Return Graphiti's properties of a community."""
    return {**community_fields(community), "name_embedding": _vector(community.embedding)}


def community_fields(community: Community) -> RowDict:
    """Return Graphiti's properties of a community, without the embedding."""
    return {
        "uuid": community.uuid,
        "name": community.name,
        "group_id": community.group_id,
        "summary": community.summary,
        "created_at": community.created_at,
    }


def group_row(lease: Lease, profile: GroupProfile) -> RowDict:
    """Return the properties of a TurnGroup that a new lease sets."""
    return {
        "group_id": lease.group_id,
        "schema_version": CURRENT,
        "embedder": profile.embedder,
        "dimensions": profile.dimensions,
        "recipe": profile.recipe,
        "lease_owner": lease.owner,
        "lease_until": lease.until,
        "fence": lease.fence,
    }


def member_links(community: Community) -> list[LinkRow]:
    return links_from("HAS_MEMBER", community.uuid, community.members)


def entity_row(entity: Entity) -> RowDict:
    """Return Graphiti's properties of an entity, without the attributes."""
    return {**entity_fields(entity), "name_embedding": _vector(entity.embedding)}


def entity_fields(entity: Entity) -> RowDict:
    """Return Graphiti's properties of an entity, without embedding and attributes."""
    return {
        "uuid": entity.uuid,
        "name": entity.name,
        "group_id": entity.group_id,
        "summary": entity.summary,
        "created_at": entity.created_at,
        "labels": [graphiti_names.BASE_LABEL, *entity.labels],
    }


def fact_row(fact: Fact) -> RowDict:
    """Return Graphiti's properties of a fact, without the attributes."""
    return {**fact_fields(fact), "fact_embedding": _vector(fact.embedding)}


def fact_fields(fact: Fact) -> RowDict:
    """Return Graphiti's properties of a fact, without embedding and attributes."""
    return {
        "uuid": fact.uuid,
        "source_node_uuid": fact.source,
        "target_node_uuid": fact.target,
        "name": fact.relation,
        "fact": fact.text,
        "group_id": fact.group_id,
        "episodes": list(fact.turns),
        "created_at": fact.created_at,
        "expired_at": fact.expired_at,
        "valid_at": fact.valid_at,
        "invalid_at": fact.invalid_at,
        "reference_time": fact.reference_time,
    }


def attribute_row(value: Entity | Fact) -> dict[str, Attribute]:
    """Return the attributes whose names are not properties of Graphiti's, by name."""
    is_entity = isinstance(value, Entity)
    reserved = graphiti_names.ENTITY_PROPERTIES if is_entity else graphiti_names.FACT_PROPERTIES
    return {
        name: attribute
        for name, attribute in sorted(value.attributes.items())
        if name not in reserved
    }


def mention_links(change: Change) -> list[LinkRow]:
    """Return a link from each chunk to each entity that it mentions."""
    episodes = episode_ids(change)
    return [
        _link("MENTIONS", episodes[number], uuid)
        for uuid in change.mentions
        for number in change.mentioned_in.get(uuid, (0,))
    ]


def links_from(kind: str, source: str, targets: Iterable[str]) -> list[LinkRow]:
    """Return a link of this kind from the source to each target."""
    return [_link(kind, source, target) for target in targets]


def _link(kind: str, source: str, target: str) -> LinkRow:
    return LinkRow(ids.edge_id(kind, source, target), source, target)


def receipt_row(receipt: Receipt) -> RowDict:
    """Return the columns of `schema.RECEIPTS`."""
    return _columns(receipt, schema.RECEIPTS)


def run_row(run: TurnRun) -> RowDict:
    """Return the columns of `schema.RUNS`."""
    return _columns(run, schema.RUNS)


def _columns(value: Receipt | TurnRun, table: schema.Table) -> RowDict:
    values = {field.name: getattr(value.usage, field.name) for field in fields(Usage)}
    values |= {field.name: getattr(value, field.name) for field in fields(value)}
    return {column.name: _column_value(column, values[column.name]) for column in table.columns}


def recipe_row(parts: RecipeParts) -> RowDict:
    """Return the properties of a TurnRecipe: the digest, and the parts as JSON."""
    encoded = msgspec.json.encode(parts, order="sorted").decode()
    return {"recipe": recipe_digest(parts), "parts": encoded}


def commit_row(change: Change, receipt: Receipt, sequence: int | None) -> RowDict:
    """Return the properties of the TurnCommit: the receipt, and what is no column of it."""
    return {
        **receipt_row(receipt),
        SEQUENCE: sequence,
        BEFORE_IMAGES: before_images(change),
        SUMMARIES: change.summaries,
    }


def before_images(change: Change) -> str:
    """Return, as JSON, the values needed to undo the turn; vectors can be computed again.

    Without summaries if the turns record them: one may quote a turn that is forgotten.
    """
    entities = change.entities_before
    if change.summaries:
        entities = tuple(replace(entity, summary="") for entity in entities)
    changed_entities = {entity.uuid for entity in change.entities_before}
    changed_facts = {fact.uuid for fact in change.facts_before}
    images = {
        "episodes_new": episode_ids(change),
        "entities": [_image(entity) for entity in entities],
        "facts": [_image(fact) for fact in change.facts_before],
        "entities_new": [e.uuid for e in change.entities if e.uuid not in changed_entities],
        "facts_new": [f.uuid for f in change.facts if f.uuid not in changed_facts],
        **({"held": change.held} if change.held else {}),
    }
    return msgspec.json.encode(images, order="sorted").decode()


def reviewed_images(images: str, record: CommitRecord) -> str:
    """Return the JSON of `before_images` of a turn with the facts before, and held, of a record."""
    decoded = msgspec.json.decode(images)
    decoded.pop("held", None)
    decoded["facts"] = [_image(fact) for fact in record.facts_before]
    if record.held:
        decoded["held"] = record.held
    return msgspec.json.encode(decoded, order="sorted").decode()


def stated_facts(record: CommitRecord) -> list[str]:
    """Return the uuids of the facts that the first episode of a turn lists: `episode_rows`."""
    return [*record.facts_new, *(fact.uuid for fact in record.facts_before)]


def without_new_entity(images: str, uuid: str) -> str:
    """Return the JSON of `before_images` of a turn that did not create this entity."""
    decoded = msgspec.json.decode(images)
    decoded["entities_new"] = [new for new in decoded["entities_new"] if new != uuid]
    return msgspec.json.encode(decoded, order="sorted").decode()


def _column_value(column: schema.Column, value: Any) -> Any:
    if column.dtype == schema.TEXTS:
        return list(value)
    # A store distinguishes integers from floats.
    is_float = column.dtype == pl.Float64 and value is not None
    return float(value) if is_float else value


def _image(value: Entity | Fact) -> RowDict:
    row = entity_fields(value) if isinstance(value, Entity) else fact_fields(value)
    # The final group: a migration moves a turn without a change of its before-images.
    group = final_group(value.group_id)
    return {**row, "group_id": group, "attributes": attribute_row(value)}


def _vector(vector: Vector | None) -> list[float]:
    if vector is None:  # nothing is committed without its vector
        raise ValueError("an entity, a fact or a community has no embedding")
    return floats(vector)


def saga_row(change: Change, now: datetime) -> RowDict:
    """Return the saga of the turn's session, with the properties of a new one.

    An empty summary is not written to one that exists.
    """
    turn = change.episode.turn
    uuid = ids.saga_id(turn.group_id, turn.session_id)
    text = change.saga_texts.get(turn.session_id, "")
    return new_saga(uuid, turn.session_id, turn.group_id, now) | {"summary": text}


def new_saga(uuid: str, session: SessionId, group: GroupId, now: datetime) -> RowDict:
    """Return the properties of a new saga without a summary."""
    return {"uuid": uuid, "name": session, "group_id": group, "created_at": now, "summary": ""}


def summary_rows(texts: Mapping[str, str]) -> list[RowDict]:
    return [{"uuid": uuid, "summary": text} for uuid, text in sorted(texts.items())]


def saga_summary_rows(
    group: GroupId, texts: Mapping[SessionId, str], *, without: SessionId | None = None
) -> list[RowDict]:
    """Return uuid and summary of each saga, but for that of one session."""
    return [
        {"uuid": ids.saga_id(group, session), "summary": text}
        for session, text in sorted(texts.items())
        if session != without
    ]


def saga_links(change: Change) -> list[LinkRow]:
    """Return the links from the saga to the turn's episodes, in order."""
    turn = change.episode.turn
    saga = ids.saga_id(turn.group_id, turn.session_id)
    return links_from("HAS_EPISODE", saga, episode_ids(change))


def next_link(before: str, after: str) -> LinkRow:
    return _link("NEXT_EPISODE", before, after)


def next_links(change: Change) -> list[LinkRow]:
    """Return the new NEXT_EPISODE links: to the turn, between its chunks, and to the next turn."""
    chain = [_previous_episode(change), *episode_ids(change), change.next_turn]
    return [next_link(before, after) for before, after in pairwise(chain) if before and after]


def outdated_links(change: Change) -> list[LinkRow]:
    """Return the link that a late turn replaces: the one between its two neighbours."""
    before = _previous_episode(change)
    return [next_link(before, change.next_turn)] if before and change.next_turn else []


def _previous_episode(change: Change) -> str | None:
    before = change.previous_turn
    return ids.chunk_id(before, change.previous_chunks - 1) if before else None
