"""The lease of a group in Neo4j: every transaction that writes under it begins with these."""

from datetime import datetime
from typing import Any, LiteralString

from neo4j import AsyncTransaction

from turnetl.graph import neo4j_cypher as cypher
from turnetl.graph import neo4j_rows
from turnetl.graph.lease import check_lease
from turnetl.graph_model import Lease
from turnetl.model import TurnId


async def lock_group(
    transaction: AsyncTransaction,
    lease: Lease,
    *,
    until: datetime,
    statement: LiteralString = cypher.LOCK_GROUP,
    **parameters: Any,
) -> dict[str, Any]:
    """Lock the TurnGroup, so that what is read of the group stays current; extend the lease.

    Args:
        transaction: the statement is its first.
        lease: of the group.
        until: the new end of the lease.
        statement: as `cypher.LOCK_GROUP`; may read more.
        parameters: of the statement.

    Returns:
        The row of the statement.

    Raises:
        GraphUnusable: another writer took the group.
    """
    result = await transaction.run(statement, group=lease.group_id, until=until, **parameters)
    found = await result.single()
    row = found.data() if found is not None else {}
    check_lease(lease, row.get("fence"), row.get("owner"))
    return row


async def lock_for_commit(
    transaction: AsyncTransaction, lease: Lease, turn: TurnId, *, until: datetime
) -> tuple[int, str | None]:
    """Lock the group as `lock_group`, and number the next commit.

    Returns:
        The number, and the run that committed the turn; None if it is not committed.
    """
    row = await lock_group(
        transaction, lease, until=until, statement=cypher.LOCK_FOR_COMMIT, turn_id=turn
    )
    run = neo4j_rows.receipt(row).run_id if row["commit"] is not None else None
    return row["sequence"], run
