"""Runs that leave deferred summaries, and `turnetl summarize` after them."""

import asyncio
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START
from turnetl.base.graph_model import LONGEST_LEASE, GroupContents
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph

BURSTS = {
    "TURNETL_SUMMARIES__BURST_TURNS": "2",
    "TURNETL_SUMMARIES__BURST_MINUTES": "10080",
    "TURNETL_SUMMARIES__MIN_SIMILARITY": "1",
}
"""The second turn about an entity begins a burst: each group has deferred summaries."""
UNFLUSHED = BURSTS | {"TURNETL_SUMMARIES__FLUSH": "false"}
FIRST_TURNS = ("--limit", "5")
"""Per group; each group has more of them."""


def backfill(folder: Path, *arguments: str, **environment: str) -> None:
    result = run_in_process("backfill", SAMPLES, *arguments, folder=folder, **environment)
    assert result.exit_code == 0, result.stderr


def unflushed_graph(request: pytest.FixtureRequest, samples: Path, folder: Path) -> str:
    """Return a graph of the kind of the parameter with the first turns of the samples.

    Args:
        request: of a fixture with a kind of graph as parameter.
        samples: the folder `unflushed_samples`.
        folder: of the lake.
    """
    if request.param == "ladybug":
        shutil.copytree(samples, folder, dirs_exist_ok=True)
        return embedded(folder)
    url = str(request.getfixturevalue("neo4j_url"))
    backfill(folder, "--graph", url, *FIRST_TURNS, **UNFLUSHED)
    return url


def embedded(folder: Path) -> str:
    return f"ladybug://{folder / '.turnetl' / 'lake' / 'graph.lbug'}"


def summarize(folder: Path, graph: str, *arguments: str) -> CommandResult:
    # As it is configured for runs: the command writes what they leave.
    return run_in_process("summarize", "--graph", graph, *arguments, folder=folder, **UNFLUSHED)


def contents(graph: str) -> list[GroupContents]:
    async def read() -> list[GroupContents]:
        store = await open_graph(graph, user="", password="")
        found = [await store.load(group) for group in await store.groups()]
        await store.close()
        return found

    return asyncio.run(read())


def summaries(groups: Sequence[GroupContents]) -> dict[str, str]:
    return {entity.uuid: entity.summary for group in groups for entity in group.entities}


OTHER = "elsewhere:1234:5678abcd"
"""The owner of the lease of `lease_elsewhere`."""


async def lease_elsewhere(graph: str, group: GroupId) -> None:
    """Lease the group to a process on another machine."""
    store = await open_graph(graph, user="", password="", write=True)
    profile = await store.profile(group)
    assert profile is not None
    await store.acquire(
        group,
        profile,
        owner=OTHER,
        now=datetime.now(UTC),  # noqa: TID251 - the command compares it with its clock
        ttl=LONGEST_LEASE,
        is_dead=lambda _: False,
    )
    await store.close()


LONG_NAME = " ".join(["of the shop"] * 12)


def write_long_session(path: Path, count: int, *, first: int = 0) -> Path:
    """Write turns, an hour apart, that state a fact each of about 150 characters about `sqlite`."""
    rows = [
        row
        for number in range(first, first + count)
        for row in conversation(
            f"Look again at the shop, please: `part{number} {LONG_NAME}` uses `sqlite`.",
            session=f"s{number}",
            at=SESSION_START + timedelta(hours=number),
        )
    ]
    return write_archive(path, rows)
