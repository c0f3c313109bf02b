"""Rows as a store reads them, to values: the same for both stores. Times are aware already."""

from collections.abc import Iterable, Mapping
from typing import Any

from turnetl import ids
from turnetl.graph import names
from turnetl.model import Entity, Fact, GroupId, Receipt, SessionId, TurnId, Usage, Vector


def receipt(row: Mapping[str, Any]) -> Receipt:
    """Return the receipt in a row of `schema.RECEIPTS`."""
    return Receipt(
        turn_id=TurnId(row["turn_id"]),
        group_id=GroupId(row["group_id"]),
        session_id=SessionId(row["session_id"]),
        ordinal=row["ordinal"],
        run_id=row["run_id"],
        content_hash=row["content_hash"],
        text_hash=row["text_hash"],
        parts=row["parts"],
        recipe=row["recipe"],
        committed_at=row["committed_at"],
        started_at=row["started_at"],
        ended_at=row.get("ended_at"),
        archive=row["archive"],
        first_line=row["first_line"],
        last_line=row["last_line"],
        usage=Usage(
            calls=row["calls"],
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            cost=row.get("cost"),
            cached_tokens=row["cached_tokens"],
            seconds=row["seconds"],
        ),
        nodes_new=row["nodes_new"],
        edges_new=row["edges_new"],
        edges_invalidated=row["edges_invalidated"],
    )


def texts(receipts: Iterable[Receipt], contents: Mapping[str, str]) -> dict[TurnId, str]:
    """Return what each turn says, put together from the contents of its episodes by uuid."""
    return {
        receipt.turn_id: "\n\n".join(
            contents.get(ids.part_id(receipt.turn_id, number), "")
            for number in range(receipt.parts)
        )
        for receipt in receipts
    }


def entity(row: Mapping[str, Any], extra: Mapping[str, Any], vector: Vector | None) -> Entity:
    """Return the entity in a row of Graphiti's properties; `extra` are its attributes."""
    return Entity(
        uuid=row["uuid"],
        group_id=GroupId(row["group_id"]),
        name=row["name"],
        labels=names.own_labels(row["labels"] or ()),
        summary=row.get("summary") or "",
        created_at=row["created_at"],
        attributes=names.plain(extra, names.ENTITY_PROPERTIES),
        embedding=vector,
    )


def fact(row: Mapping[str, Any], extra: Mapping[str, Any], vector: Vector | None) -> Fact:
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
        attributes=names.plain(extra, names.FACT_PROPERTIES),
        embedding=vector,
    )
