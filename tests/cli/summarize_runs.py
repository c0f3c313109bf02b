"""Runs that leave deferred summaries, and `turnetl summarize` after them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from turnetl.graph.open import open_graph
from turnetl.graph_model import GroupContents

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
