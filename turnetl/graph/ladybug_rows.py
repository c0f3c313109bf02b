"""Between turnetl's values and Ladybug's rows: naive UTC times, attributes as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from turnetl.graph import commit as rows
from turnetl.graph import ladybug_cypher as cypher
from turnetl.graph import values
from turnetl.graph.lease import Holding
from turnetl.llm.vectors import pack
from turnetl.model import Change, Entity, Fact, Lease, Profile, Receipt, Vector

Statement = tuple[str, dict[str, Any], bool]
"""Cypher, its parameters, and whether it must find what it looks for (it returns a row then)."""


def statements(change: Change, receipt: Receipt, now: datetime) -> list[Statement]:
    """Return all that a turn writes, in order.

    Nothing of it may be there yet but the entities and facts of `*_before` and the neighbours.
    """
    known = {fact.uuid for fact in change.facts_before}
    shared = {"group_id": receipt.group_id, "now": naive(now)}
    linked = [
        *((cypher.MENTION, link, True) for link in rows.mentions(change)),
        *((cypher.HAS_EPISODE, link, True) for link in rows.saga_links(change)),
        *((cypher.LINK, link, False) for link in rows.next_links(change)),
    ]
    return [
        *((cypher.EPISODE, _plain(row), False) for row in rows.episode_rows(change, now)),
        (cypher.SAGA, _plain(rows.saga_row(change, now)), False),
        *_ends_of_saga(change),
        *((cypher.SAVE_ENTITY, _entity_row(entity), False) for entity in change.entities),
        *_facts(change, known),
        *((cypher.UNLINK, _ends(link), False) for link in rows.outdated_links(change)),
        *((query, asdict(link) | shared, must) for query, link, must in linked),
        (cypher.COMMIT, _plain(rows.commit_row(change, receipt)), False),
    ]


def group_row(lease: Lease, profile: Profile) -> dict[str, Any]:
    return {
        "group_id": lease.group_id,
        "embedder": profile.embedder,
        "dimensions": str(profile.dimensions),
        "recipe": profile.recipe,
        "owner": lease.owner,
        "until": naive(lease.until),
        "fence": str(lease.fence),
    }


def holding(row: Sequence[Any], *, used: bool) -> Holding:
    fence, embedder, dimensions, recipe, owner, until = row
    profile = None if embedder is None else Profile(embedder, dimensions, recipe)
    return Holding(fence, profile, used, owner, as_utc(until))


def receipt(row: Sequence[Any]) -> Receipt:
    named = dict(zip(cypher.RECEIPT_COLUMNS, row, strict=True))
    return values.receipt(_aware(named))


def entities(table: Any) -> list[Entity]:
    """Return the rows of an Arrow table with the columns of `cypher.ENTITIES`."""
    found = table.drop_columns(["embedding"]).to_pylist()
    return [
        values.entity(_aware(row), _attributes(row), vector)
        for row, vector in zip(found, _vectors(table["embedding"]), strict=True)
    ]


def facts(table: Any) -> list[Fact]:
    """Return the rows of an Arrow table with the columns of `cypher.FACTS`."""
    found = table.drop_columns(["embedding"]).to_pylist()
    return [
        values.fact(_aware(row), _attributes(row), vector)
        for row, vector in zip(found, _vectors(table["embedding"]), strict=True)
    ]


def naive(when: datetime) -> datetime:
    """Return the time in UTC, without saying so: what Ladybug's TIMESTAMP is."""
    return when.astimezone(UTC).replace(tzinfo=None)


def as_utc(when: datetime | None) -> datetime | None:
    """Say of a time that it is UTC: Ladybug keeps UTC, but gives it back without saying so."""
    return None if when is None else when.replace(tzinfo=UTC)


def _facts(change: Change, known: set[str]) -> Iterable[Statement]:
    for fact in change.facts:
        row = _plain(rows.fact_row(fact)) | {"attributes": _json(fact)}
        if fact.uuid in known:
            del row["source_node_uuid"], row["target_node_uuid"]
            yield cypher.SET_FACT, row, True
        else:
            yield cypher.NEW_FACT, row, True


def _ends_of_saga(change: Change) -> Iterable[Statement]:
    links = rows.saga_links(change)
    if change.previous_turn is None:
        yield cypher.FIRST_OF_SAGA, _ends(links[0]), False
    if change.next_turn is None:
        yield cypher.LAST_OF_SAGA, _ends(links[-1]), False


def _ends(link: rows.Link) -> dict[str, Any]:
    return {"source": link.source, "target": link.target}


def _entity_row(entity: Entity) -> dict[str, Any]:
    return _plain(rows.entity_row(entity)) | {"attributes": _json(entity)}


def _json(of: Entity | Fact) -> str:
    return msgspec.json.encode(rows.attributes(of), order="sorted").decode()


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(row["attributes"] or "{}")
    return found


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with naive times, and whole numbers as texts."""
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Any:
    match value:
        case datetime():
            return naive(value)
        case int():
            return str(value)
        case _:
            return value


def _aware(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: as_utc(value) if isinstance(value, datetime) else value for name, value in row.items()
    }


def _vectors(column: Any) -> list[Vector | None]:
    """Return the bytes of each list of float32 in an Arrow column."""
    return [vector for chunk in column.chunks for vector in _of_chunk(chunk)]


def _of_chunk(chunk: Any) -> Iterable[Vector | None]:
    numbers = chunk.values.to_numpy(zero_copy_only=False).astype("<f4", copy=False)
    places = pairwise(chunk.offsets.to_numpy().tolist())
    for (first, last), there in zip(places, np.asarray(chunk.is_valid()), strict=True):
        yield pack(numbers[first:last]) if there else None
