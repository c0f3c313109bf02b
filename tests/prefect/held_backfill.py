"""A backfill with a model whose provider holds its responses in the middle of the run.

Whatever then happens to the run, tables and graph must in the end be those of an undisturbed one.
"""

import asyncio
import json
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli import command
from tests.cli.provider_setup import model_environment, write_session
from tests.prefect.stored_graph import stored_graph, stored_tables
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import KEY, FakeProvider
from turnetl.base.graph_model import GroupContents

TURNS = 4
BEFORE_THE_HOLD = 6
"""Requests that arrive before a response is held: of the first turns, not of all."""


@dataclass(frozen=True)
class HeldBackfill:
    """A backfill of a session, and what an undisturbed one makes."""

    provider: FakeProvider
    folder: Path
    tables: Mapping[str, bytes]
    graph: Sequence[GroupContents]
    neo4j: Neo4jServer | None = None
    """Has the graph; None: it is in the lake."""

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the flow; the settings are in a file, as in the environment of no process."""
        return {
            "archives": [str(self.folder / "a.jsonl")],
            "lake": str(self.lake),
            "config": str(self.folder / "config.json"),
        }

    def hold(self) -> None:
        """Hold the responses as soon as a run is in the middle; call it before the run starts."""
        self.provider.hold = threading.Event()
        self.provider.hold.set()

    def wait_for_the_middle(self, log: str = "") -> None:
        """Return when the provider holds a response."""
        assert self.provider.hold is not None
        for number in range(BEFORE_THE_HOLD):
            assert self.provider.arrived.acquire(timeout=120), log
            if number == BEFORE_THE_HOLD - 2:
                self.provider.hold.clear()

    def release(self) -> None:
        """Let the provider respond."""
        assert self.provider.hold is not None
        self.provider.hold.set()

    async def committed(self) -> int:
        """Return the number of turns in the graph."""
        return sum(len(group.receipts) for group in await self._stored())

    async def check_complete(self) -> None:
        """Check that tables and graph are those of an undisturbed run."""
        assert stored_tables(self.lake) == self.tables
        graph = await self._stored()
        assert graph == self.graph
        assert [len(group.receipts) for group in graph] == [TURNS]

    async def _stored(self) -> Sequence[GroupContents]:
        return await stored_graph(self.lake, _url(self.neo4j))


def held_backfill(
    provider: FakeProvider, folder: Path, neo4j: Neo4jServer | None = None
) -> HeldBackfill:
    """Write archive and config, and run it undisturbed in another lake."""
    archive = write_session(folder / "a.jsonl", TURNS)
    lake, url = folder / "undisturbed", _url(neo4j)
    names = ("backfill", archive, "--lake", lake, *(("--graph", url) if url else ()))
    ran = command.run_in_process(*names, folder=folder, **model_environment(provider))
    assert ran.exit_code == 0, ran.stderr
    undisturbed = stored_tables(lake), asyncio.run(stored_graph(lake, url))
    if neo4j is not None:
        neo4j.clear()
    provider.arrived = threading.Semaphore(0)
    (folder / "lake").mkdir()
    # Placeholders and versions depend on the key of the lake.
    shutil.copy(lake / "redaction.key", folder / "lake")
    _write_config(folder / "config.json", provider, url)
    return HeldBackfill(provider, folder, *undisturbed, neo4j)


def _url(neo4j: Neo4jServer | None) -> str | None:
    return None if neo4j is None else neo4j.url


def _write_config(path: Path, provider: FakeProvider, graph: str | None) -> None:
    model = {"base_url": f"{provider.url}/v1", "model": "canned", "api_key": KEY}
    llm = {"provider": "openai-compatible", **model}
    path.write_text(json.dumps({"turnetl": {"llm": llm} | ({"graph": graph} if graph else {})}))
    path.chmod(0o600)
