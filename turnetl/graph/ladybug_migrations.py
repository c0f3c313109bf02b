"""The state of migrations in Ladybug: one row of JSON for each."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from turnetl.graph import ladybug_cypher as cypher
from turnetl.graph.ladybug_client import LadybugClient
from turnetl.graph.ladybug_writer import LadybugWriter
from turnetl.graph.migrations import TurnMigration, decoded, encoded
from turnetl.graph_model import Lease

_MIGRATIONS = "MATCH (m:TurnMigration) RETURN m.state"
_SAVE = """
MERGE (m:TurnMigration {migration_id: $migration_id})
SET m.group_id = $group_id, m.state = $state
"""


class LadybugMigrations(LadybugWriter):
    """`MigrationStore` over a client."""

    async def migrations(self) -> Sequence[TurnMigration]:
        return await self._client.run(_migrations)

    async def save_migration(
        self, lease: Lease, migration: TurnMigration, *, now: datetime, ttl: timedelta
    ) -> None:
        await self._write_under(lease, now + ttl, lambda client: _save(client, migration))


def _save(client: LadybugClient, migration: TurnMigration) -> None:
    row = {"migration_id": migration.migration_id, "group_id": migration.group_id}
    client.query(_SAVE, {**row, "state": encoded(migration)})


def _migrations(client: LadybugClient) -> list[TurnMigration]:
    # A file that was only read since an older version of turnetl wrote it has no such table.
    if ["TurnMigration"] not in client.query(cypher.TABLES):
        return []
    return decoded([state for (state,) in client.query(_MIGRATIONS)])
