"""Between turnetl's values and Neo4j's rows: statements with parameters, and the driver's times."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

from neo4j.time import DateTime

from turnetl.errors import GraphRefused
from turnetl.graph import commit as rows
from turnetl.graph import neo4j_cypher as cypher
from turnetl.graph import values
from turnetl.graph.lease import Holding
from turnetl.llm.vectors import pack
from turnetl.model import Change, Entity, Fact, Lease, Profile, Receipt, Vector

Statement = tuple[LiteralString, dict[str, Any]]
"""Cypher and its parameters."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES_OF_ENTITY = ("created_at",)
_TIMES_OF_FACT = ("created_at", "valid_at", "invalid_at", "expired_at", "reference_time")


def statements(change: Change, receipt: Receipt, now: datetime) -> list[Statement]:
    """Return all that a turn writes, in order, with parameters.

    Nothing of it may be there yet but the entities and facts of `*_before` and the neighbours.
    """
    shared = {"group": receipt.group_id, "now": now}
    todo: list[Statement] = [(cypher.TURN, shared | _turn(change, receipt, now))]
    changed = {fact.uuid for fact in change.facts_before}
    parts: list[tuple[LiteralString, list[dict[str, Any]]]] = [
        (cypher.DROP_LABELS, _dropped_labels(change)),
        (cypher.SAVE_ENTITIES, [_entity_row(entity) for entity in change.entities]),
        (cypher.NEW_FACTS, [_fact_row(fact) for fact in change.facts if fact.uuid not in changed]),
        (cypher.SET_FACTS, [_fact_row(fact) for fact in change.facts if fact.uuid in changed]),
        (cypher.MENTIONS, [asdict(link) for link in rows.mentions(change)]),
        (cypher.UNLINK, [asdict(link) for link in rows.outdated_links(change)]),
        (cypher.LINK, [asdict(link) for link in rows.next_links(change)]),
    ]
    return todo + [(query, {**shared, "rows": part}) for query, part in parts if part]


def group_row(lease: Lease, profile: Profile) -> dict[str, Any]:
    return {
        "group_id": lease.group_id,
        "embedder": profile.embedder,
        "dimensions": profile.dimensions,
        "recipe": profile.recipe,
        "lease_owner": lease.owner,
        "lease_until": lease.until,
        "fence": lease.fence,
    }


def holding(row: Mapping[str, Any]) -> Holding:
    group = _timed(row["holding"])
    made = "embedder" in group
    return Holding(
        fence=group.get("fence", 0),
        profile=Profile(group["embedder"], group["dimensions"], group["recipe"]) if made else None,
        used=row["used"],
        owner=group.get("lease_owner"),
        until=group.get("lease_until"),
    )


def receipt(row: Mapping[str, Any]) -> Receipt:
    """Return the receipt of a TurnCommit.

    Raises:
        GraphRefused: it is none of ours.
    """
    commit = _timed(row["commit"])
    if "seconds" not in commit:
        raise GraphRefused(
            f"group `{commit['group_id']}` was written by another version of turnetl; name another "
            "graph with --graph, and ingest again"
        )
    return values.receipt(commit)


def entity(row: Mapping[str, Any]) -> Entity:
    properties = _since_epoch(row["properties"], _TIMES_OF_ENTITY)
    properties["labels"] = row["labels"]
    return values.entity(properties, properties, _vector(properties.get("name_embedding")))


def fact(row: Mapping[str, Any]) -> Fact:
    properties = _since_epoch(row["properties"], _TIMES_OF_FACT)
    properties["source_node_uuid"] = row["source"]
    properties["target_node_uuid"] = row["target"]
    return values.fact(properties, properties, _vector(properties.get("fact_embedding")))


def _turn(change: Change, receipt: Receipt, now: datetime) -> dict[str, Any]:
    """Return the parameters of `cypher.TURN`."""
    episodes, links = rows.episode_rows(change, now), rows.saga_links(change)
    return {
        "saga": rows.saga_row(change, now),
        "first": links[0].target if change.previous_turn is None else None,
        "last": links[-1].target if change.next_turn is None else None,
        "commit": rows.commit_row(change, receipt),
        "episodes": [
            {"episode": episode, "link": link.uuid}
            for episode, link in zip(episodes, links, strict=True)
        ],
    }


def _entity_row(entity: Entity) -> dict[str, Any]:
    return rows.entity_row(entity) | rows.attributes(entity)


def _fact_row(fact: Fact) -> dict[str, Any]:
    return rows.fact_row(fact) | rows.attributes(fact)


def _dropped_labels(change: Change) -> list[dict[str, Any]]:
    now = {entity.uuid: set(entity.labels) for entity in change.entities}
    gone = {e.uuid: set(e.labels) - now.get(e.uuid, set(e.labels)) for e in change.entities_before}
    return [{"uuid": uuid, "labels": sorted(labels)} for uuid, labels in gone.items() if labels]


def _vector(numbers: list[float] | None) -> Vector | None:
    return None if numbers is None else pack(numbers)


def _since_epoch(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the row with its times, given in microseconds, as Python's, in UTC."""
    times = ((name, row.get(name)) for name in names)
    made = {name: _EPOCH + timedelta(microseconds=at) for name, at in times if at is not None}
    return {**row, **made}


def _timed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with its times as Python's, in UTC."""
    return {
        name: value.to_native().astimezone(UTC) if isinstance(value, DateTime) else value
        for name, value in row.items()
    }
