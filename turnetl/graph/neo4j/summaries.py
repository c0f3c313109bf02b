"""Summaries in Neo4j that are written to entities which nothing else changes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, LiteralString

from neo4j import AsyncTransaction

from turnetl.base.errors import GraphUnusable
from turnetl.base.model import GroupId, SummaryWrites, TurnId
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.pages import NODE, in_pages

SET_SUMMARIES: LiteralString = """
UNWIND $rows AS row
MATCH (n:Entity {uuid: row.uuid})
SET n.summary = row.summary
RETURN count(*) AS done
"""
SET_SAGA_SUMMARIES: LiteralString = """
UNWIND $rows AS row
MATCH (s:Saga {uuid: row.uuid})
SET s.summary = row.summary
RETURN count(*) AS done
"""
_SET_RECORDS: LiteralString = """
UNWIND $rows AS row
MATCH (c:TurnCommit {turn_id: row.turn_id})
SET c.summaries = row.summaries
RETURN count(*) AS done
"""
_SET_USAGES: LiteralString = """
UNWIND $rows AS row
MATCH (c:TurnCommit {turn_id: row.turn_id})
SET c += row.usage
"""
_RENUMBER: LiteralString = """
MATCH (g:TurnGroup {group_id: $group})
SET g.sequence = g.sequence + 1
WITH g.sequence AS sequence
MATCH (c:TurnCommit {turn_id: $turn_id})
SET c.sequence = sequence
"""
_RECORDS: LiteralString = in_pages(
    "MATCH (item:TurnCommit {group_id: $group})",
    NODE,
    "[item.sequence, item.turn_id, item.summaries]",
)


def summary_rows(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of `SET_SUMMARIES`."""
    return [{"uuid": uuid, "summary": text} for uuid, text in sorted(texts.items())]


async def write(transaction: AsyncTransaction, writes: SummaryWrites) -> None:
    """Write summaries and records. Runs in a transaction of the caller.

    Raises:
        GraphUnusable: a turn is not committed.
    """
    if writes.texts:
        await transaction.run(SET_SUMMARIES, rows=summary_rows(writes.texts))
    if writes.records:
        rows = [{"turn_id": turn, "summaries": text} for turn, text in writes.records.items()]
        result = await transaction.run(_SET_RECORDS, rows=rows)
        if (await result.single(strict=True))["done"] != len(rows):
            raise GraphUnusable("a turn is no longer in the graph; run again")
    if writes.usages:
        usages = [{"turn_id": turn, "usage": asdict(use)} for turn, use in writes.usages.items()]
        await transaction.run(_SET_USAGES, rows=usages)


async def renumber(transaction: AsyncTransaction, group: GroupId, turn: TurnId) -> None:
    """Give a commit the next number of its group. Runs in a transaction of the caller."""
    await transaction.run(_RENUMBER, group=group, turn_id=turn)


async def records(client: Neo4jClient, group: GroupId) -> dict[TurnId, str]:
    """Return what each turn of the group records, in the order of the commits."""
    rows = await client.paged_rows(_RECORDS, group=group)
    return {TurnId(turn): summaries for _, turn, summaries in sorted(rows)}
