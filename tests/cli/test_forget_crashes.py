"""A `forget` that ends between any two steps is completed by the next one, in either graph."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.forgetting import LAKE, PIECES, committed_sessions, fill, forget
from tests.graph.graph_dump import dump_graph
from tests.held_bytes import holding
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.ingestion.forget import ForgetReport, ForgetSelection
from turnetl.settings import Settings

STEPS = (
    *("runs", "quarantine", "list", "turns", "episodes", "filter", "graph"),
    *("communities", "merged entities", "graph file"),
    *("journal", "index", "proof", "completion"),
)
SAMPLED = ("filter", "graph file")
"""Steps of every run of the tests; all of them are `full`."""
SELECTION = ForgetSelection(session="three")


class Ended(BaseException):
    """The end of a process between two steps, where no file is open."""


def forget_here(
    folder: Path,
    graph: str,
    selection: ForgetSelection = SELECTION,
    before_step: Callable[[str], None] = lambda _: None,
) -> ForgetReport:
    settings = Settings(lake=folder / LAKE, graph=graph)

    async def run() -> ForgetReport:
        preview = await pipeline.preview_forget(settings, selection, cascade=True)
        return await pipeline.forget(settings, preview, now, before_step=before_step)

    return asyncio.run(run())


def ended_before(folder: Path, graph: str, step: str) -> None:
    """Forget until a step, and no further."""

    def end(name: str) -> None:
        if name == step:
            raise Ended

    with pytest.raises(Ended):
        forget_here(folder, graph, before_step=end)


def embedded(folder: Path) -> str:
    return f"ladybug://{folder / LAKE / 'graph.lbug'}"


@pytest.fixture(scope="module")
def expected(filled_zoo: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The graph after an undisturbed `forget`."""
    folder, steps = tmp_path_factory.mktemp("undisturbed"), list[str]()
    shutil.copytree(filled_zoo, folder, dirs_exist_ok=True)
    assert forget_here(folder, embedded(folder), before_step=steps.append).is_proven
    assert tuple(steps) == STEPS
    return asyncio.run(dump_graph(embedded(folder)))


def test_an_end_before_any_step_is_completed_by_the_next_call(
    zoo: Path, expected: list[str]
) -> None:
    for step in SAMPLED:
        ended_before(zoo, embedded(zoo), step)
    report = forget_here(zoo, embedded(zoo))
    assert report.is_resumed
    check(report, zoo, expected)


def check(report: ForgetReport, folder: Path, expected: list[str]) -> None:
    assert report.is_proven
    assert holding(folder / LAKE, PIECES) == []
    assert asyncio.run(dump_graph(embedded(folder))) == expected
    assert (folder / LAKE / "episodes" / "shop.parquet").exists()


@pytest.mark.full
def test_calls_that_each_end_before_the_next_step_are_completed_by_the_last(
    zoo: Path, expected: list[str]
) -> None:
    for step in STEPS:
        ended_before(zoo, embedded(zoo), step)
    # Of what was begun, the selection need not be known any more.
    report = forget_here(zoo, embedded(zoo), ForgetSelection())
    assert report.is_resumed
    check(report, zoo, expected)


@pytest.mark.full
def test_the_command_completes_what_was_begun(zoo: Path) -> None:
    ended_before(zoo, embedded(zoo), "graph file")
    assert "three" not in committed_sessions(zoo)
    result = forget(zoo, "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert (result.json["resumed"], result.json["proven"]) == (True, True)
    assert holding(zoo / LAKE, PIECES) == []


def test_a_removal_from_neo4j_is_completed_and_says_what_is_not_searched(
    neo4j_url: str, tmp_path: Path
) -> None:
    fill(tmp_path, TURNETL_GRAPH=neo4j_url)
    for step in ("graph", "journal"):
        ended_before(tmp_path, neo4j_url, step)
    result = forget(tmp_path, "--session", "three", "--yes", "--json", TURNETL_GRAPH=neo4j_url)
    assert result.exit_code == 0, result.stderr
    assert result.json["proven"]
    assert result.json["graph_server"] == neo4j_url.rpartition("@")[2]
    assert "are not searched" in result.stderr
    assert holding(tmp_path / LAKE, PIECES) == []
    assert not any("windmill" in line for line in asyncio.run(dump_graph(neo4j_url)))
