"""What `turnetl forget` removes of the responses of a model, and of what runs recorded."""

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.forgetting import CANARY, LAKE, PIECES, fill_with_model, forget
from tests.cli.provider_setup import model_environment
from tests.held_bytes import holding
from tests.servers.provider import FakeProvider, serving
from turnetl.graph.open import open_graph
from turnetl.pipeline.run_forget import MARK

MATCH = "seventh windmill"


@pytest.fixture(scope="module")
def running() -> Iterator[FakeProvider]:
    with serving() as provider:
        yield provider


@pytest.fixture(scope="module")
def filled(running: FakeProvider, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    fill_with_model(folder, **model_environment(running))
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path


def journal_holds(folder: Path, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in (folder / LAKE).glob("journal*"))


def stored_responses(folder: Path) -> int:
    count: int = run_in_process("journal", "stats", "--json", folder=folder).json["responses"]
    return count


@pytest.mark.full
def test_responses_that_hold_the_text_go_and_the_others_are_used_again(
    running: FakeProvider, folder: Path
) -> None:
    environment, before = model_environment(running), stored_responses(folder)
    assert journal_holds(folder, MATCH)
    result = forget(folder, "--match", MATCH, "--yes", "--json", **environment)
    assert result.exit_code == 0, result.stderr
    erased = result.json["responses_erased"]
    assert 0 < erased < before
    assert stored_responses(folder) == before - erased
    assert holding(folder / LAKE, PIECES) == []
    undone = run_in_process("undo", "--session", "one", "--yes", folder=folder, **environment)
    assert undone.exit_code == 0, undone.stderr
    requests = len(running.requests)
    again = run_in_process("ingest", "--json", folder=folder, **environment)
    assert again.json["committed"] == 1
    assert len(running.requests) == requests


@pytest.mark.full
def test_a_selection_without_a_text_removes_all_responses_and_the_quarantine_entry(
    folder: Path,
) -> None:
    before = stored_responses(folder)
    result = forget(folder, "--session", "three", "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert (result.json["responses_erased"], result.json["quarantined"]) == (before, 1)
    assert stored_responses(folder) == 0
    assert holding(folder / LAKE, PIECES) == []


@pytest.mark.full
def test_runs_no_longer_quote_the_text_in_their_command_or_error(folder: Path) -> None:
    asyncio.run(quote(folder, CANARY))
    result = forget(folder, "--match", MATCH, "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.json["proven"]
    [run] = run_in_process("runs", "--json", folder=folder).json["runs"]
    shown = run_in_process("runs", "show", run["run_id"], "--json", folder=folder).json
    assert shown["command"] == ["turnetl", "backfill", "--preprocessing", MARK]
    assert (shown["error"], shown["archives"]) == (MARK, ["archives"])
    assert holding(folder / LAKE, PIECES) == []


async def quote(folder: Path, text: str) -> None:
    """Let the only run of the graph have an argument and an error with a text."""
    path = folder / LAKE / "graph.lbug"
    store = await open_graph(f"ladybug://{path}", user="", password="")
    [run] = await store.runs()
    command = ("turnetl", "backfill", "--preprocessing", f"Skip {text}.")
    await store.save_run(replace(run, command=command, error=f"cannot read: {text}"))
    await store.close()


@pytest.mark.full
def test_a_file_whose_name_holds_the_text_is_found(folder: Path) -> None:
    names = {f"{MATCH}.log", f"graph.lbug.{MATCH}.damaged-1"}
    for name in names:
        (folder / LAKE / name).touch()
    result = forget(folder, "--match", MATCH, "--yes", "--json")
    assert result.exit_code == 1
    assert {Path(found["path"]).name for found in result.json["found"]} == names
    assert {found["place"] for found in result.json["found"]} == {"file name"}
