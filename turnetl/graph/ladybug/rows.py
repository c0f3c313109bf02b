"""Between turnetl's values and Ladybug's rows: times without a zone, attributes as JSON.

Also writes rows of summaries, in the transaction of the caller.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec

from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import GroupProfile, Receipt
from turnetl.base.ids import final_group
from turnetl.base.model import Change, Entity, Fact, GroupId, SummaryWrites, Vector
from turnetl.graph import from_rows, to_rows
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.port import LeaseState

_FLOAT_BYTES = 4
_RECEIPT = msgspec.json.Decoder(Receipt)
_NOTHING_HELD = ',"facts_held":0}'
"""The end of a receipt: it is the last field."""
LadybugStatement = tuple[str, dict[str, Any], bool]
"""Cypher, its parameters, and whether it must return a row: it must match what it refers to."""


def statements(
    change: Change, receipt: Receipt, now: datetime, *, sequence: int
) -> list[LadybugStatement]:
    """Return all statements that write a turn, in order; `sequence` is the number of its commit.

    The graph must hold nothing of the turn but the entities and facts of `*_before` and the
    neighbouring episodes.
    """
    changed = {fact.uuid for fact in change.facts_before}
    shared = {"group_id": receipt.group_id, "now": without_zone(now)}
    links = [
        *((cypher.LINK_MENTION, link, True) for link in to_rows.mention_links(change)),
        *((cypher.LINK_SAGA, link, True) for link in to_rows.saga_links(change)),
        *((cypher.LINK_NEXT, link, False) for link in to_rows.next_links(change)),
    ]
    outdated = to_rows.outdated_links(change)
    commit = commit_row(change, receipt, sequence)
    episodes, saga = to_rows.episode_rows(change, now), to_rows.saga_row(change, now)
    saga_texts = to_rows.saga_summary_rows(receipt.group_id, change.saga_texts)
    return [
        *((cypher.SAVE_EPISODE, parameters(row), False) for row in episodes),
        (cypher.SAVE_SAGA, parameters(saga), False),
        *_saga_boundaries(change),
        *((cypher.SAVE_ENTITY, entity_parameters(entity), False) for entity in change.entities),
        *((cypher.SET_SUMMARY, row, True) for row in to_rows.summary_rows(change.summary_texts)),
        *((cypher.SET_SAGA_SUMMARY, row, True) for row in saga_texts),
        *(
            (cypher.UPDATE_FACT, changed_fact_parameters(fact), True)
            if fact.uuid in changed
            else (cypher.CREATE_FACT, _fact_parameters(fact), True)
            for fact in change.facts
        ),
        *((cypher.UNLINK_NEXT, _link_params(link), False) for link in outdated),
        *((query, asdict(link) | shared, must_match) for query, link, must_match in links),
        (cypher.CREATE_TURN_COMMIT, parameters(commit), False),
    ]


def lease_state(row: Sequence[Any], *, used: bool) -> LeaseState:
    """Return the lease in a row of `cypher.LEASE_STATE`."""
    fence, embedder, dimensions, recipe, owner, until = row
    profile = None if embedder is None else GroupProfile(embedder, dimensions, recipe)
    return LeaseState(fence, profile, used, owner, as_utc(until))


def commit_row(change: Change, receipt: Receipt, sequence: int) -> dict[str, Any]:
    """Return the columns of `cypher.TURN_COMMIT`."""
    return {
        **{name: getattr(receipt, name) for name in cypher.QUERIED},
        to_rows.SEQUENCE: sequence,
        cypher.RECEIPT: receipt_json(receipt),
        to_rows.BEFORE_IMAGES: to_rows.before_images(change),
        to_rows.SUMMARIES: change.summaries,
    }


def receipt_json(receipt: Receipt) -> str:
    """Return the column `cypher.RECEIPT`.

    It names the final group, so that a migration moves a turn by one column. If nothing is held, it
    is as it was before that was counted.
    """
    final = replace(receipt, group_id=final_group(receipt.group_id))
    return msgspec.json.encode(final).decode().replace(_NOTHING_HELD, "}")


def receipt(json: str, group: GroupId) -> Receipt:
    """Return the receipt of a turn of this group in the column `cypher.RECEIPT`."""
    decoded = _RECEIPT.decode(json)
    return decoded if decoded.group_id == group else replace(decoded, group_id=group)


def entities(table: Any) -> list[Entity]:
    """Return the entities of an Arrow table with the columns of `cypher.ENTITIES`."""
    return [
        from_rows.entity_from_row(row, _attributes(row), vector) for row, vector in embedded(table)
    ]


def facts(table: Any) -> list[Fact]:
    """Return the facts of an Arrow table with the columns of `cypher.FACTS`."""
    return [
        from_rows.fact_from_row(row, _attributes(row), vector) for row, vector in embedded(table)
    ]


def embedded(table: Any) -> Iterator[tuple[dict[str, Any], Vector | None]]:
    """Yield each row of an Arrow table, with the vector in its column `embedding`, if there is one.

    The vectors never become Python's numbers.
    """
    if "embedding" not in table.column_names:
        yield from ((with_zone(row), None) for row in table.to_pylist())
        return
    rows = table.drop_columns(["embedding"]).to_pylist()
    for row, vector in zip(rows, _vectors_of(table["embedding"]), strict=True):
        yield with_zone(row), vector


def entity_parameters(entity: Entity) -> dict[str, Any]:
    return parameters(to_rows.entity_row(entity)) | {"attributes": _json(entity)}


def changed_fact_parameters(fact: Fact) -> dict[str, Any]:
    """Return the parameters of `cypher.UPDATE_FACT`: a fact never changes its entities."""
    row = _fact_parameters(fact)
    del row["source_node_uuid"], row["target_node_uuid"]
    return row


def write_summaries(client: LadybugClient, writes: SummaryWrites) -> None:
    """Write summaries and records. Runs in a transaction of the caller.

    Raises:
        GraphUnusable: a turn is not committed.
    """
    for row in to_rows.summary_rows(writes.texts):
        client.query(cypher.SET_SUMMARY, row)
    for turn, record in writes.records.items():
        if not client.query(cypher.SET_RECORD, {"turn_id": turn, "summaries": record}):
            raise GraphUnusable(f"turn {turn} is no longer in the graph; run again")
    for turn, usage in writes.usages.items():
        for (json,) in client.query(cypher.COMMITTED_RECEIPT, {"turn_id": turn}):
            changed = receipt_json(replace(_RECEIPT.decode(json), usage=usage))
            client.query(cypher.SET_RECEIPT, {"turn_id": turn, "receipt": changed})


def without_zone(time: datetime) -> datetime:
    """Return the time in UTC without its zone, as Ladybug's TIMESTAMP requires."""
    return time.astimezone(UTC).replace(tzinfo=None)


def as_utc(time: datetime | None) -> datetime | None:
    """Return the time with its zone: Ladybug stores UTC and returns it without a zone."""
    return None if time is None else time.replace(tzinfo=UTC)


def _saga_boundaries(change: Change) -> Iterable[LadybugStatement]:
    links = to_rows.saga_links(change)
    if change.previous_turn is None:
        yield cypher.SET_FIRST_EPISODE, _link_params(links[0]), False
    if change.next_turn is None:
        yield cypher.SET_LAST_EPISODE, _link_params(links[-1]), False


def _link_params(link: to_rows.LinkRow) -> dict[str, Any]:
    return {"source": link.source, "target": link.target}


def _fact_parameters(fact: Fact) -> dict[str, Any]:
    return parameters(to_rows.fact_row(fact)) | {"attributes": _json(fact)}


def _json(value: Entity | Fact) -> str:
    return msgspec.json.encode(to_rows.attribute_row(value), order="sorted").decode()


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    attributes: dict[str, Any] = msgspec.json.decode(row["attributes"] or "{}")
    return attributes


def parameters(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with times without a zone, and with integers as strings."""
    return {name: _parameter(value) for name, value in row.items()}


def _parameter(value: Any) -> Any:
    match value:
        case datetime():
            return without_zone(value)
        case int():
            return str(value)
        case _:
            return value


def with_zone(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: as_utc(value) if isinstance(value, datetime) else value for name, value in row.items()
    }


def _vectors_of(column: Any) -> Iterator[Vector | None]:
    """Yield the bytes of each list of float32 in an Arrow column."""
    for chunk in column.chunks:
        # Both other ways import Arrow's computations, which take as long as reading a small graph.
        is_float = chunk.values.type == "float32"
        numbers = chunk.values if is_float else chunk.values.cast("float32")
        data = memoryview(numbers.buffers()[1] or b"")[numbers.offset * _FLOAT_BYTES :]
        slices = pairwise(offset * _FLOAT_BYTES for offset in chunk.offsets.to_pylist())
        valid = chunk.is_valid().to_pylist() if chunk.null_count else [True] * len(chunk)
        for (start, end), is_valid in zip(slices, valid, strict=True):
            yield Vector(bytes(data[start:end])) if is_valid else None
