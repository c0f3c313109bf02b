"""The lease of a group in Ladybug, and the transactions under it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from turnetl.base.graph_model import Lease
from turnetl.graph.ladybug import cypher, rows
from turnetl.graph.ladybug.client import LadybugAccess, LadybugClient
from turnetl.graph.ladybug.log import DiskSpace
from turnetl.graph.port import check_lease


class LadybugWriter(LadybugAccess):
    """Writes, if there is enough space on the disk."""

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


def check(client: LadybugClient, lease: Lease) -> None:
    """Check that nobody took the group; raises as `check_lease`."""
    rows = client.query(cypher.HOLDER, {"group_id": lease.group_id})
    check_lease(lease, *(rows[0] if rows else (None, None)))


def extend(client: LadybugClient, lease: Lease, until: datetime) -> None:
    """Let the lease run until then, if nobody took the group."""
    client.query(cypher.RENEW, parameters(lease, until=until))


def next_sequence(client: LadybugClient, lease: Lease, until: datetime) -> int:
    """Number the next commit of the group; extend the lease. Raises as `check_lease`."""
    new_end = {"group_id": lease.group_id, "until": rows.without_zone(until)}
    [[fence, owner, sequence]] = client.query(cypher.NEXT_SEQUENCE, new_end) or [[None, None, 0]]
    check_lease(lease, fence, owner)
    return int(sequence)


def parameters(lease: Lease, *, until: datetime | None = None) -> dict[str, Any]:
    """Return the parameters of a statement about the lease, with its new end if there is one."""
    of_lease = {"group_id": lease.group_id, "owner": lease.owner, "fence": str(lease.fence)}
    return of_lease if until is None else of_lease | {"until": rows.without_zone(until)}
