"""Summaries in Ladybug that are written to entities which nothing else changes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, SessionId, SummaryWrites, TurnId
from turnetl.graph import to_rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.cypher import RECEIPT

_decoder = msgspec.json.Decoder(Receipt)
_SET_SUMMARY = "MATCH (n:Entity {uuid: $uuid}) SET n.summary = $summary RETURN n.uuid"
_SET_SAGA_SUMMARY = "MATCH (s:Saga {uuid: $uuid}) SET s.summary = $summary RETURN s.uuid"
_SET_RECORD = "MATCH (c:TurnCommit {turn_id: $turn_id}) SET c.summaries = $summaries RETURN 1"
_RECEIPT = f"MATCH (c:TurnCommit {{turn_id: $turn_id}}) RETURN c.{RECEIPT}"
_SET_RECEIPT = f"MATCH (c:TurnCommit {{turn_id: $turn_id}}) SET c.{RECEIPT} = $receipt"
_RENUMBER = """
MATCH (c:TurnCommit {turn_id: $turn_id})
SET c.sequence = CAST($sequence AS INT64)
"""
_RECORDS = """
MATCH (c:TurnCommit) WHERE c.group_id = $group_id
RETURN c.turn_id, c.summaries ORDER BY c.sequence
"""


def statements(
    texts: Mapping[str, str], *, must_match: bool
) -> list[tuple[str, dict[str, Any], bool]]:
    """Return the statements that set the summaries of entities, by uuid."""
    return [
        (_SET_SUMMARY, {"uuid": uuid, "summary": text}, must_match)
        for uuid, text in sorted(texts.items())
    ]


def saga_statements(
    group: GroupId, texts: Mapping[SessionId, str]
) -> list[tuple[str, dict[str, Any], bool]]:
    """Return the statements that set the summaries of sagas, by session."""
    rows = to_rows.saga_summary_rows(group, texts)
    return [(_SET_SAGA_SUMMARY, row, True) for row in rows]


def write(client: LadybugClient, writes: SummaryWrites) -> None:
    """Write summaries and records. Runs in a transaction of the caller.

    Raises:
        GraphUnusable: a turn is not committed.
    """
    for statement, parameters, _ in statements(writes.texts, must_match=False):
        client.query(statement, parameters)
    for turn, record in writes.records.items():
        if not client.query(_SET_RECORD, {"turn_id": turn, "summaries": record}):
            raise GraphUnusable(f"turn {turn} is no longer in the graph; run again")
    for turn, usage in writes.usages.items():
        for (receipt,) in client.query(_RECEIPT, {"turn_id": turn}):
            changed = replace(_decoder.decode(receipt), usage=usage)
            encoded = msgspec.json.encode(changed).decode()
            client.query(_SET_RECEIPT, {"turn_id": turn, "receipt": encoded})


def write_numbered(client: LadybugClient, writes: SummaryWrites, sequence: int) -> None:
    """Write as `write`, and give the latest of the turns a number."""
    write(client, writes)
    *_, latest = writes.records
    client.query(_RENUMBER, {"turn_id": latest, "sequence": str(sequence)})


def records(client: LadybugClient, group: GroupId) -> dict[TurnId, str]:
    """Return what each turn of the group records, in the order of the commits."""
    rows = client.query(_RECORDS, {"group_id": group})
    return {TurnId(turn): summaries for turn, summaries in rows}
