"""A `forget` that is killed between any two steps is completed by the next one, in either graph."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import clean_environment, run_in_process
from tests.cli.forgetting import LAKE, committed_sessions, fill, forget, holding
from tests.cli.test_forget import PIECES
from tests.graph.graph_dump import dump_graph

STEPS = (
    *("list", "turns", "episodes", "filter", "quarantine", "graph", "graph file"),
    *("journal", "index", "proof", "completion"),
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    fill(folder)
    return folder


@pytest.fixture(scope="module")
async def undisturbed(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The graph after a `forget` that nothing interrupts."""
    folder = tmp_path_factory.mktemp("undisturbed") / "copy"
    shutil.copytree(filled, folder)
    process = run_program(folder, "never")
    assert process.returncode == 0, process.stderr
    assert tuple(process.stdout.splitlines()) == STEPS
    return await dump_graph(graph_url(folder))


def graph_url(folder: Path) -> str:
    return f"ladybug://{folder / LAKE / 'graph.lbug'}"


def run_program(
    folder: Path, killed_before: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.cli.forget_program", killed_before],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=clean_environment(folder) | environment,
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("selection", [("--session", "three"), ()], ids=["same", "none"])
async def test_a_kill_before_any_step_is_completed_by_the_next_call(
    step: str, selection: tuple[str, ...], filled: Path, undisturbed: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(filled, folder)
    assert run_program(folder, step).returncode == -9
    if not selection and step == STEPS[0]:
        return  # nothing was written that a call without a selection could continue
    result = forget(folder, *selection, "--cascade", "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.json["proven"]
    assert holding(folder / LAKE, PIECES) == []
    assert await dump_graph(graph_url(folder)) == undisturbed


async def test_an_ingest_after_a_kill_brings_nothing_back(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(filled, folder)
    assert run_program(folder, "graph file").returncode == -9
    assert run_in_process("backfill", "archives", folder=folder).exit_code == 0
    assert "three" not in committed_sessions(folder)
    assert forget(folder, "--cascade", "--yes").exit_code == 0
    assert holding(folder / LAKE, PIECES) == []


@pytest.mark.parametrize("step", ["graph", "journal", "index"])
def test_a_kill_is_completed_in_neo4j(step: str, neo4j_url: str, tmp_path: Path) -> None:
    environment = {"TURNETL_GRAPH": neo4j_url}
    fill(tmp_path, **environment)
    assert run_program(tmp_path, step, **environment).returncode == -9
    result = forget(tmp_path, "--session", "three", "--cascade", "--yes", "--json", **environment)
    assert result.exit_code == 0, result.stderr
    assert result.json["proven"]
    assert result.json["graph_server"] == neo4j_url.rpartition("@")[2]
    assert "are not searched" in result.stderr
    assert holding(tmp_path / LAKE, PIECES) == []
