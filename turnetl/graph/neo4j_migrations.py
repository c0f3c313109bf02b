"""The state of migrations in Neo4j: properties of the record as JSON."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import LiteralString

from neo4j import AsyncTransaction

from turnetl.graph.migrations import TurnMigration, decoded, encoded
from turnetl.graph.neo4j_writer import Neo4jWriter
from turnetl.graph_model import Lease

_MIGRATIONS: LiteralString = "MATCH (m:TurnMigration) RETURN m.state AS state"
_SAVE: LiteralString = """
MERGE (m:TurnMigration {migration_id: $migration_id})
SET m.group_id = $group_id, m.state = $state
"""


class Neo4jMigrations(Neo4jWriter):
    """`MigrationStore` over a client."""

    async def migrations(self) -> Sequence[TurnMigration]:
        return decoded([row["state"] for row in await self._client.read(_MIGRATIONS)])

    async def save_migration(
        self, lease: Lease, migration: TurnMigration, *, now: datetime, ttl: timedelta
    ) -> None:
        async with self._writing_under(lease, now + ttl) as transaction:
            await _save(transaction, migration)


async def _save(transaction: AsyncTransaction, migration: TurnMigration) -> None:
    await transaction.run(
        _SAVE,
        migration_id=migration.migration_id,
        group_id=migration.group_id,
        state=encoded(migration),
    )
