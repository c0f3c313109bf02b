"""A store that counts its statements. Run as a program, it is killed during a commit.

python -m tests.graph.crash_program URL STATEMENT [long]
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from neo4j import AsyncGraphDatabase

from tests.graph.crashes import Countdown, CrashingConnection, CrashingDriver, kill
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, long_history, receipt
from turnetl.base.graph_model import Lease
from turnetl.base.model import Change, GroupId
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.ladybug.store import LadybugStore
from turnetl.graph.neo4j.store import Neo4jStore
from turnetl.graph.port import GraphStore


def crashing_store(url: str, countdown: Countdown, *, timeout_seconds: float = 30) -> GraphStore:
    """Return a store over the graph at `url` that crashes at the end of the countdown."""
    parts = urlsplit(url)
    if parts.scheme == "ladybug":
        file = LadybugFile.open(Path(parts.path), write=True)
        connection = CrashingConnection(file.connection, countdown)
        return LadybugStore(replace(file, connection=connection))
    driver: Any = AsyncGraphDatabase.driver(
        f"{parts.scheme}://{parts.hostname}:{parts.port}",
        auth=(parts.username or "", parts.password or ""),
        telemetry_disabled=True,
    )
    return Neo4jStore(
        cast("Any", CrashingDriver(driver, countdown)),
        address=url,
        user="",
        timeout_seconds=timeout_seconds,
    )


async def commit_until_killed(url: str, statement: int, changes: Sequence[Change]) -> None:
    first, second, _ = changes
    healthy = crashing_store(url, Countdown(-1, kill))
    await healthy.prepare()
    lease = await healthy.acquire(
        GroupId(first.episode.turn.group_id),
        PROFILE,
        owner="host:dead",
        now=NOW,
        ttl=TTL,
        is_dead=lambda owner: owner == "host:dead",
    )
    await healthy.commit(lease, first, receipt(first), now=NOW, ttl=TTL)
    await healthy.close()
    await _commit_second(url, statement, lease, second)


async def _commit_second(url: str, statement: int, lease: Lease, second: Change) -> None:
    store = crashing_store(url, Countdown(statement, kill))
    await store.commit(lease, second, receipt(second), now=NOW, ttl=TTL)
    await store.close()


if __name__ == "__main__":
    changes = long_history() if sys.argv[3:] == ["long"] else history()
    asyncio.run(commit_until_killed(sys.argv[1], int(sys.argv[2]), changes))
