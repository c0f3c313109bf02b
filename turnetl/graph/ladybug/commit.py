"""Commit a turn to a Ladybug graph."""

from datetime import datetime

from turnetl.base.graph_model import Lease, Receipt
from turnetl.base.model import Change, TurnId
from turnetl.graph import to_rows
from turnetl.graph.ladybug import cypher, rows
from turnetl.graph.ladybug import lease as ladybug_lease
from turnetl.graph.ladybug.client import LadybugClient


def is_committed(client: LadybugClient, turn: TurnId) -> bool:
    return bool(client.query(cypher.IS_COMMITTED, {"turn_id": turn}))


def write_turn(
    client: LadybugClient,
    lease: Lease,
    change: Change,
    receipt: Receipt,
    *,
    now: datetime,
    until: datetime,
) -> None:
    """Write a turn with the next number of its group, within a transaction; extend the lease.

    Raises:
        GraphUnusable: another writer took the group, or the turn names an entity or a fact that
            the graph does not hold.
    """
    sequence = ladybug_lease.next_sequence(client, lease, until)
    statements = rows.statements(change, receipt, now, sequence=sequence)
    for query, parameters, must_match in statements:
        if not client.query(query, parameters) and must_match:
            raise to_rows.incomplete_graph(lease.group_id)
