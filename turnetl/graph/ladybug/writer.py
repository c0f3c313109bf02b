"""Transactions on a Ladybug file that write a group under its lease."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from turnetl.base.graph_model import Lease
from turnetl.graph.ladybug import lease as ladybug_lease
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.space import DiskSpace


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
                ladybug_lease.check(client, lease)
                ladybug_lease.extend(client, lease, until)
                write(client)

        await self._client.run(run)

    def _check_space(self, size: int = 0) -> None:
        if self._space is not None:
            self._space.check(size)
