"""`turnetl runs`: who wrote to the graph, when, what, and how it ended."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import run_in_process, turnetl_process
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.redact.canaries import fresh
from tests.servers.provider import FakeProvider
from turnetl.base.graph_model import TurnRun
from turnetl.graph.open import open_graph
from turnetl.ingestion import held_lease

ENDED_PROCESS = held_lease.owner_name("run-1").replace(str(os.getpid()), str(2**22 + 1))
"""Owner whose process id is above the highest that a system gives."""


def change_run(folder: Path, change: Callable[[TurnRun], TurnRun]) -> None:
    """Write a change of the only run in the graph of a folder."""
    asyncio.run(_change_run(folder, change))


async def _change_run(folder: Path, change: Callable[[TurnRun], TurnRun]) -> None:
    path = folder / ".turnetl" / "lake" / "graph.lbug"
    store = await open_graph(f"ladybug://{path}", user="", password="")
    (run,) = await store.runs()
    await store.save_run(change(run))
    await store.close()


def test_a_run_is_listed_and_shown_with_all_that_it_did(shop: Path, filled_shop: Path) -> None:
    listed = run_in_process("runs", "--json", folder=shop).json
    (run,) = listed["runs"]
    assert (listed["count"], run["state"], run["error"]) == (1, "done", None)
    assert (run["committed"], run["in_graph"], run["quarantined"]) == (2, 2, 0)
    assert (run["groups"], run["extractor"], run["model"]) == (["shop"], "structural", None)
    assert run["archives"] == [str(filled_shop / "a.jsonl")]
    assert run["entities_new"] > 0
    assert run["usage"]["cost"] == 0
    assert datetime.fromisoformat(run["started_at"]) <= datetime.fromisoformat(run["ended_at"])
    shown = run_in_process("runs", "show", run["run_id"][:6], folder=shop).stdout
    assert f"run {run['run_id']}" in shown
    assert "2 committed, 2 of them in the graph now" in shown
    assert f"{run['user']}@{run['host']}" in shown
    assert run_in_process("runs", "show", run["run_id"], "--json", folder=shop).json == run


@pytest.mark.full
def test_an_unchanged_run_writes_nothing_and_a_new_turn_is_a_new_run(
    shop: Path, filled_shop: Path
) -> None:
    assert run_in_process("backfill", "a.jsonl", folder=shop).exit_code == 0
    assert run_in_process("runs", "--json", folder=shop).json["count"] == 1
    rows = conversation("Sell books, too", session="s2", at=SESSION_START)
    write_archive(shop / "b.jsonl", rows)
    run_in_process("backfill", "b.jsonl", folder=shop)
    both = run_in_process("runs", "--json", folder=shop).json["runs"]
    assert [run["archives"] for run in both] == [["b.jsonl"], [str(filled_shop / "a.jsonl")]]
    limited = run_in_process("runs", "-n", "1", "--json", folder=shop).json
    assert (limited["count"], limited["runs"]) == (2, both[:1])
    assert "the last 1 of 2 runs" in run_in_process("runs", "-n", "1", folder=shop).stdout


def test_runs_are_selected_by_their_groups(shop: Path) -> None:
    assert run_in_process("runs", "--group", "shop", "--json", folder=shop).json["count"] == 1
    unknown = run_in_process("runs", "--group", "library", folder=shop)
    assert unknown.exit_code == 2
    assert "there is no group `library`" in unknown.stderr


@pytest.mark.parametrize("run_id", ["nowhere", ""])
def test_an_unknown_run_is_rejected(run_id: str, shop: Path) -> None:
    result = run_in_process("runs", "show", run_id, folder=shop)
    assert result.exit_code == 2
    assert "`turnetl runs` lists the runs" in result.messages[0]


def test_an_id_that_begins_several_runs_is_rejected(shop: Path) -> None:
    (run,) = run_in_process("runs", "--json", folder=shop).json["runs"]
    other = run["run_id"][:6] + "-other"
    change_run(shop, lambda run: replace(run, run_id=other))
    result = run_in_process("runs", "show", run["run_id"][:6], folder=shop)
    assert result.exit_code == 2
    assert f"begins several runs: {other}, {run['run_id']}" in result.messages[0] or (
        f"begins several runs: {run['run_id']}, {other}" in result.messages[0]
    )


@pytest.mark.parametrize("arguments", [(), ("show", "a1")])
def test_without_a_graph_the_command_says_where_it_would_be_and_creates_nothing(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Not that there are no runs: a file that is lost recorded some."""
    result = run_in_process("runs", *arguments, folder=tmp_path)
    assert result.exit_code == 1
    assert "there is no graph at" in result.messages[0]
    assert "graph.lbug`: run `turnetl backfill`, or name another with --graph" in result.messages[0]
    assert list(tmp_path.iterdir()) == []


def test_a_graph_without_runs_says_so(shop: Path) -> None:
    graph = f"ladybug://{shop / 'empty.lbug'}"
    asyncio.run(_create(graph))
    result = run_in_process("runs", "--graph", graph, folder=shop)
    assert (result.exit_code, "no run has written" in result.stdout) == (0, True)


async def _create(graph: str) -> None:
    store = await open_graph(graph, user="", password="")
    await store.prepare()
    await store.close()


def test_a_run_without_an_end_runs_until_its_process_has_died_and_counts_its_receipts(
    shop: Path,
) -> None:
    for owner, state in (
        (held_lease.owner_name("run-1"), "running"),
        (ENDED_PROCESS, "interrupted"),
    ):
        change_run(shop, partial(_without_end, owner))
        (run,) = run_in_process("runs", "--json", folder=shop).json["runs"]
        assert (run["state"], run["ended_at"], run["committed"]) == (state, None, 2)
        assert run["entities_new"] > 0


def _without_end(owner: str, run: TurnRun) -> TurnRun:
    return replace(run, owner=owner, ended_at=None, outcome=None, committed=0, entities_new=0)


@pytest.mark.full
def test_a_run_that_its_budget_stopped_says_so_with_its_cost(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    environment = model_environment(provider)
    stopped = run_in_process(
        "backfill", "a.jsonl", "--budget", "1 token", folder=tmp_path, **environment
    )
    assert stopped.exit_code == 4
    assert run_in_process("backfill", "a.jsonl", folder=tmp_path, **environment).exit_code == 0
    done, first = run_in_process("runs", "--json", folder=tmp_path).json["runs"]
    assert (first["state"], first["committed"]) == ("stopped", 0)
    assert "budget" in first["error"]
    assert (done["state"], done["committed"]) == ("done", 1)
    assert (done["extractor"], done["model"]) == ("llm", "openai-compatible/canned")
    assert done["usage"]["calls"] > 0


@pytest.mark.full
def test_the_command_is_recorded_without_secrets(tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    secret = "ghp_" + fresh(36)
    options = ("--extractor", "structural", "--preprocessing", f"Use the token {secret}, please.")
    result = turnetl_process("backfill", "a.jsonl", *options, folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    (run,) = run_in_process("runs", "--json", folder=tmp_path).json["runs"]
    command = run["command"]
    assert command[:5] == ["turnetl", "backfill", "a.jsonl", "--extractor", "structural"]
    assert "[REDACTED:" in command[-1]
    assert secret not in str(run)


@pytest.mark.full
def test_a_run_of_which_every_turn_was_undone_is_undone(shop: Path) -> None:
    (run,) = run_in_process("runs", "--json", folder=shop).json["runs"]
    selected = run_in_process("undo", "--group", "shop", "--yes", folder=shop)
    assert selected.exit_code == 0, selected.stderr
    (undone,) = run_in_process("runs", "--json", folder=shop).json["runs"]
    assert (undone["state"], undone["committed"], undone["in_graph"]) == ("undone", 2, 0)
    assert undone["undone_at"] >= run["ended_at"]
