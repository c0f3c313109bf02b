"""The lease of a group in Neo4j: every transaction that writes under it begins with these."""

from datetime import datetime
from typing import Any, LiteralString

from neo4j import AsyncTransaction

from turnetl.base.graph_model import Lease
from turnetl.graph.lease import check_lease
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.parameters import abbreviated


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
    given = parameters | {"group": lease.group_id, "until": until}
    result = await transaction.run(statement, abbreviated(given))
    found = await result.single()
    row = found.data() if found is not None else {}
    check_lease(lease, row.get("fence"), row.get("owner"))
    return row
