"""Between turnetl's values and Neo4j's rows: statements with parameters, and the driver's times.

Also writes rows of summaries, in the transaction of the caller.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

from neo4j import AsyncTransaction
from neo4j.time import DateTime

from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import GroupProfile, Receipt
from turnetl.base.model import Change, Entity, Fact, SummaryWrites, Vector
from turnetl.graph import from_rows, to_rows
from turnetl.graph.from_rows import FACT_TIMES
from turnetl.graph.neo4j import cypher
from turnetl.graph.port import LeaseState
from turnetl.llm.vectors import pack

Neo4jStatement = tuple[LiteralString, dict[str, Any]]
"""Cypher and its parameters."""

ENTITY_TIMES = ("created_at",)
EPISODE_TIMES = ("created_at", "valid_at")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def statements(
    change: Change, receipt: Receipt, now: datetime, *, sequence: int | None = None
) -> list[Neo4jStatement]:
    """Return all statements that write a turn, in order; `sequence` is the number of its commit.

    Without a number, the first one is replaced by `cypher.LOCK_AND_CREATE_TURN`, which numbers it.

    The graph must hold nothing of the turn but the entities and facts of `*_before` and the
    neighbouring episodes.
    """
    shared = {"group": receipt.group_id, "now": now}
    changed = {fact.uuid for fact in change.facts_before}
    facts = [(fact.uuid in changed, fact_properties(fact)) for fact in change.facts]
    saga_texts = to_rows.saga_summary_rows(
        receipt.group_id, change.saga_texts, without=receipt.session_id
    )
    with_rows: list[tuple[LiteralString, list[dict[str, Any]]]] = [
        (cypher.DROP_LABELS, _dropped_labels(change)),
        (cypher.SAVE_ENTITIES, [entity_properties(entity) for entity in change.entities]),
        (cypher.SET_SUMMARIES, to_rows.summary_rows(change.summary_texts)),
        (cypher.SET_SAGA_SUMMARIES, saga_texts),
        (cypher.CREATE_FACTS, [row for is_changed, row in facts if not is_changed]),
        (cypher.UPDATE_FACTS, [row for is_changed, row in facts if is_changed]),
        (cypher.LINK_MENTIONS, [asdict(link) for link in to_rows.mention_links(change)]),
        (cypher.UNLINK_NEXT, [asdict(link) for link in to_rows.outdated_links(change)]),
        (cypher.LINK_NEXT, [asdict(link) for link in to_rows.next_links(change)]),
    ]
    turn = _turn_parameters(change, receipt, now, sequence)
    return [
        (cypher.CREATE_TURN, shared | turn),
        *((query, {**shared, "rows": rows}) for query, rows in with_rows if rows),
    ]


def entity_properties(entity: Entity) -> dict[str, Any]:
    return to_rows.entity_row(entity) | to_rows.attribute_row(entity)


def fact_properties(fact: Fact) -> dict[str, Any]:
    return to_rows.fact_row(fact) | to_rows.attribute_row(fact)


def lease_state(row: Mapping[str, Any]) -> LeaseState:
    """Return the lease in a row of `cypher.LEASE_STATE` or `cypher.LOCK_OR_CREATE`."""
    group = with_python_times(row["properties"])
    profile = None
    if "embedder" in group:
        profile = GroupProfile(group["embedder"], group["dimensions"], group["recipe"])
    return LeaseState(
        fence=group.get("fence", 0),
        profile=profile,
        used=row["used"],
        owner=group.get("lease_owner"),
        until=group.get("lease_until"),
    )


def receipt(row: Mapping[str, Any]) -> Receipt:
    """Return the receipt in a row of `cypher.RECEIPTS` or in a commit of `COMMITS_AFTER`."""
    return from_rows.receipt_from_row(from_microseconds(row, cypher.RECEIPT_TIMES))


def commit(row: Mapping[str, Any]) -> tuple[Receipt, from_rows.Recorded]:
    """Return what a row of `cypher.COMMIT_RECORDS` or a commit of `COMMITS_AFTER` records."""
    recorded = (row[to_rows.SEQUENCE], row[to_rows.BEFORE_IMAGES], row[to_rows.SUMMARIES])
    return receipt(row), from_rows.Recorded(*recorded)


def entity(row: Mapping[str, Any]) -> Entity:
    """Return the entity in a row of `cypher.ENTITIES` or `cypher.SOME_ENTITIES`."""
    properties = from_microseconds(row["properties"], ENTITY_TIMES)
    properties["labels"] = row["labels"]
    embedding = vector(properties.get("name_embedding"))
    return from_rows.entity_from_row(properties, properties, embedding)


def fact(row: Mapping[str, Any]) -> Fact:
    """Return the fact in a row of `cypher.FACTS` or `cypher.SOME_FACTS`."""
    properties = from_microseconds(row["properties"], FACT_TIMES)
    properties["source_node_uuid"] = row["source"]
    properties["target_node_uuid"] = row["target"]
    embedding = vector(properties.get("fact_embedding"))
    return from_rows.fact_from_row(properties, properties, embedding)


def with_python_times(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with the driver's times as Python's, in UTC."""
    return {
        name: value.to_native().astimezone(UTC) if isinstance(value, DateTime) else value
        for name, value in row.items()
    }


def _turn_parameters(
    change: Change, receipt: Receipt, now: datetime, sequence: int | None
) -> dict[str, Any]:
    """Return the parameters of `cypher.CREATE_TURN`."""
    episodes, links = to_rows.episode_rows(change, now), to_rows.saga_links(change)
    return {
        "saga": to_rows.saga_row(change, now),
        "first": links[0].target if change.previous_turn is None else None,
        "last": links[-1].target if change.next_turn is None else None,
        "commit": to_rows.commit_row(change, receipt, sequence),
        "episodes": [
            {"episode": episode, "link": link.uuid}
            for episode, link in zip(episodes, links, strict=True)
        ],
    }


def _dropped_labels(change: Change) -> list[dict[str, Any]]:
    labels = {entity.uuid: set(entity.labels) for entity in change.entities}
    dropped = {
        entity.uuid: set(entity.labels) - labels.get(entity.uuid, set(entity.labels))
        for entity in change.entities_before
    }
    return [{"uuid": uuid, "labels": sorted(names)} for uuid, names in dropped.items() if names]


def vector(numbers: list[float] | None) -> Vector | None:
    return None if numbers is None else pack(numbers)


def from_microseconds(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the row with its times, given in microseconds since 1970, as Python's, in UTC."""
    given = ((name, row.get(name)) for name in names)
    times = {name: _EPOCH + timedelta(microseconds=at) for name, at in given if at is not None}
    return {**row, **times}


async def write_summaries(transaction: AsyncTransaction, writes: SummaryWrites) -> None:
    """Write summaries and records. Runs in a transaction of the caller.

    Raises:
        GraphUnusable: a turn is not committed.
    """
    if writes.texts:
        await transaction.run(cypher.SET_SUMMARIES, rows=to_rows.summary_rows(writes.texts))
    if writes.records:
        rows = [{"turn_id": turn, "summaries": text} for turn, text in writes.records.items()]
        result = await transaction.run(cypher.SET_RECORDS, rows=rows)
        if (await result.single(strict=True))["done"] != len(rows):
            raise GraphUnusable("a turn is no longer in the graph; run again")
    if writes.usages:
        usages = [{"turn_id": turn, "usage": asdict(use)} for turn, use in writes.usages.items()]
        await transaction.run(cypher.SET_USAGES, rows=usages)
