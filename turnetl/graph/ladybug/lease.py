"""The lease of a group in Ladybug. What reads or changes it runs in a transaction of the caller.

Transactions on a Ladybug file that write a group under its lease.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from turnetl.base.graph_model import GroupProfile, Lease
from turnetl.base.model import GroupId
from turnetl.graph.ladybug import cypher, reads, rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.log import DiskSpace
from turnetl.graph.port import LeaseState, check_lease, grant_lease


class LadybugWriter:
    """What writes over a client."""

    _client: LadybugClient
    _space: DiskSpace | None

    async def _write_row(self, statement: str, parameters: Mapping[str, Any]) -> None:
        def write(client: LadybugClient) -> None:
            self._check_space()
            client.query(statement, parameters)

        await self._client.run(write)

    async def _write_under(
        self, lease: Lease, until: datetime, write: Callable[[LadybugClient], None]
    ) -> None:
        """Write in one transaction under the lease, which it extends."""

        def run(client: LadybugClient) -> None:
            self._check_space()
            with client.transaction():
                check(client, lease)
                extend(client, lease, until)
                write(client)

        await self._client.run(run)

    def _check_space(self, size: int = 0) -> None:
        if self._space is not None:
            self._space.check(size)


def acquire(
    client: LadybugClient,
    group: GroupId,
    profile: GroupProfile,
    *,
    owner: str,
    now: datetime,
    ttl: timedelta,
    is_dead: Callable[[str], bool],
) -> Lease:
    """Grant a lease; as `GraphStore.acquire`."""
    state = reads.lease_state(client, group) or LeaseState(0, None, False, None, None)
    lease = grant_lease(group, state, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead)
    client.query(cypher.GRANT, rows.group_parameters(lease, profile))
    return lease


def check(client: LadybugClient, lease: Lease) -> None:
    """Check that nobody took the group.

    Raises:
        GraphUnusable: another writer did.
    """
    rows = client.query(cypher.HOLDER, {"group_id": lease.group_id})
    check_lease(lease, *(rows[0] if rows else (None, None)))


def extend(client: LadybugClient, lease: Lease, until: datetime) -> None:
    """Let the lease run until then, if nobody took the group."""
    client.query(cypher.RENEW, parameters(lease, until=until))


def next_sequence(client: LadybugClient, lease: Lease, until: datetime) -> int:
    """Number the next commit of the group; extend the lease.

    Raises:
        GraphUnusable: another writer took the group; the transaction must not be committed.
    """
    new_end = {"group_id": lease.group_id, "until": rows.without_zone(until)}
    [[fence, owner, sequence]] = client.query(cypher.NEXT_SEQUENCE, new_end) or [[None, None, 0]]
    check_lease(lease, fence, owner)
    return int(sequence)


def parameters(lease: Lease, *, until: datetime | None = None) -> dict[str, Any]:
    """Return the parameters of a statement about the lease, with its new end if there is one."""
    of_lease = {"group_id": lease.group_id, "owner": lease.owner, "fence": str(lease.fence)}
    return of_lease if until is None else of_lease | {"until": rows.without_zone(until)}
