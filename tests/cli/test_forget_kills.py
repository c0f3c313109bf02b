"""A `forget` that is killed in the middle of any step is completed by the next one."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.command import clean_environment
from tests.cli.forgetting import LAKE, PIECES, fill_with_model
from tests.cli.provider_setup import model_environment
from tests.graph.graph_dump import dump_graph
from tests.held_bytes import holding
from tests.servers.provider import serving
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.ingestion.forget import ForgetReport, ForgetSelection
from turnetl.settings import Settings

STEPS = {
    *("runs", "quarantine", "list", "turns", "episodes", "filter", "graph"),
    *("communities", "graph file"),
    *("journal", "index"),
}
"""Those of more than one call; the completion, and what was merged, is one rename."""


@dataclass(frozen=True)
class KilledForgets:
    """Folders in which a `forget` was killed, by step, and one in which none was."""

    by_step: dict[str, Path]
    undisturbed: Path


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledForgets]:
    filled, target = tmp_path_factory.mktemp("filled"), tmp_path_factory.mktemp("killed")
    with serving() as provider:
        fill_with_model(filled, **model_environment(provider))
    process = subprocess.run(
        [sys.executable, "-m", "tests.cli.forget_kills", filled, target],
        check=True,
        capture_output=True,
        text=True,
        env=clean_environment(target),
    )
    rows = [line.split("\t") for line in process.stdout.splitlines()]
    assert {code for _, code in rows} == {"-9"}
    by_step = {step: target / step for step, _ in rows}
    yield KilledForgets(by_step, target / "undisturbed")
    shutil.rmtree(target)


def complete(folder: Path) -> ForgetReport:
    settings = Settings(lake=folder / LAKE, graph=graph_of(folder))

    async def run() -> ForgetReport:
        selection = ForgetSelection(session="three")
        preview = await pipeline.preview_forget(settings, selection, cascade=True)
        return await pipeline.forget(settings, preview, now)

    return asyncio.run(run())


def graph_of(folder: Path) -> str:
    return f"ladybug://{folder / LAKE / 'graph.lbug'}"


@pytest.mark.full
def test_a_process_that_is_killed_inside_any_step_is_continued_by_the_next(
    killed: KilledForgets,
) -> None:
    assert killed.by_step.keys() == STEPS
    expected = asyncio.run(dump_graph(graph_of(killed.undisturbed)))
    assert expected
    for step, folder in killed.by_step.items():
        assert complete(folder).is_proven, step
        assert holding(folder / LAKE, PIECES) == [], step
        assert asyncio.run(dump_graph(graph_of(folder))) == expected, step
        assert responses(folder) == 0, step
        assert [*(folder / LAKE / "quarantine").rglob("*.json")] == [], step


def responses(folder: Path) -> int:
    """Return the number of responses in the journal of a lake."""
    with closing(sqlite3.connect(folder / LAKE / "journal.sqlite")) as journal:
        [count] = journal.execute("SELECT count(*) FROM responses").fetchone()
    return int(count)
