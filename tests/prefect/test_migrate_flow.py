"""The flow `migrate` in this process: it ends with the comparison unless it is told to cut over."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from prefect import State
from prefect.artifacts import Artifact

from flows.artifacts import MIGRATION_COMPARISON, MIGRATION_PLAN
from flows.migrate import migrate
from tests.cli.command import SAMPLES
from tests.legacy.migrating import GROUP, fill, of_readers, state_of, without_group
from tests.legacy.sessions import LegacySession, legacy_sessions
from turnetl.base.ids import sessions_group

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]

ARCHIVES = Path(SAMPLES) / "shoebox"


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(ARCHIVES)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, sessions: tuple[LegacySession, ...]) -> Path:
    """An embedded graph, closed, with summaries of the sessions."""
    graph = tmp_path_factory.mktemp("filled") / "graph.lbug"
    fill(f"ladybug://{graph}", sessions)
    return graph


@pytest.fixture
def url(tmp_path: Path, filled: Path) -> str:
    """A graph that is a copy of it."""
    return f"ladybug://{shutil.copy(filled, tmp_path)}"


def run(url: str, archives: Path = ARCHIVES, **parameters: Any) -> State[Any]:
    lake = Path(url.removeprefix("ladybug://")).parent / "lake"

    async def call() -> State[Any]:
        state: State[Any] = await migrate(
            [str(archives)], graph=url, lake=str(lake), **parameters, return_state=True
        )
        return state

    return asyncio.run(call())


def artifact(key: str) -> str:
    found = asyncio.run(Artifact.aget(key))
    assert found is not None
    return str(found.data)


@pytest.mark.full
def test_unless_it_is_told_to_cut_over_the_flow_ends_with_the_comparison(
    url: str, sessions: tuple[LegacySession, ...]
) -> None:
    before, mask = of_readers(url), os.umask(0o022)
    try:
        state = run(url)
    finally:
        os.umask(mask)
    assert state.is_completed(), state.message
    assert of_readers(url) == before
    lake = Path(url.removeprefix("ladybug://")).parent / "lake"
    assert {path.stat().st_mode & 0o077 for path in lake.rglob("*")} == {0}
    result = asyncio.run(state.aresult())
    [planned], [migration] = result["plan"]["groups"], result["run"]["migrations"]
    [compared] = result["compare"]["groups"]
    assert (migration["phase"], result["cutover"]) == ("ready", [])
    assert planned["turns"] == migration["turns"] == result["run"]["ingest"]["committed"] > 0
    plan, comparison = artifact(MIGRATION_PLAN), artifact(MIGRATION_COMPARISON)
    row, *_ = (line for line in plan.splitlines() if line.startswith(f"| {GROUP} "))
    assert row == f"| {GROUP} | {len(sessions)} | 0 | 0 | 0 | 2 |"
    assert "| all groups | expected | from | to |" in plan
    assert f"## {GROUP}" in comparison
    assert f"| facts | {compared['old']['facts']} | {compared['new']['facts']} |" in comparison
    assert [reason for reason in compared["reasons"] if f"- {reason}" not in comparison] == []


@pytest.mark.full
def test_a_cutover_that_the_comparison_speaks_against_must_be_accepted(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNETL_MIGRATION__MIN_EXPRESSED", "1")
    before = of_readers(url)
    refused = run(url, cutover=True)
    assert refused.is_failed()
    assert "--accept" in (refused.message or "")
    assert of_readers(url) == before
    assert_cut_over(url, run(url, cutover=True, accept=True))


@pytest.mark.full
def test_what_only_a_cutover_reads_is_refused_without_one_before_any_work(url: str) -> None:
    before = of_readers(url)
    state = run(url, accept=True)
    assert state.is_failed()
    assert "give `cutover` too" in (state.message or "")
    assert of_readers(url) == before


@pytest.mark.full
def test_a_cutover_after_a_comparison_that_passed_needs_nothing_else(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MIN_EXPRESSED", "MIN_PROBE_HITS"):
        monkeypatch.setenv(f"TURNETL_MIGRATION__{name}", "0")
    assert_cut_over(url, run(url, cutover=True))


def assert_cut_over(url: str, state: State[Any]) -> None:
    assert state.is_completed(), state.message
    [change] = asyncio.run(state.aresult())["cutover"]
    assert (change["done"], change["migration"]["phase"]) == (True, "cut_over")
    old = sessions_group(GROUP, state_of(url).migration_id)
    assert [line for line in without_group(of_readers(url), old) if "TurnCommit" in line]


@pytest.mark.full
def test_an_incomplete_run_is_not_cut_over_also_if_that_is_accepted(url: str) -> None:
    before = of_readers(url)
    state = run(url, cutover=True, accept=True, limit=1)
    assert state.is_failed()
    assert "is not ready for a cutover" in (state.message or "")
    assert of_readers(url) == before


@pytest.mark.full
def test_a_run_that_failed_is_neither_compared_nor_cut_over(url: str, tmp_path: Path) -> None:
    before = of_readers(url)
    empty = tmp_path / "empty"
    empty.mkdir()
    state = run(url, archives=empty, cutover=True, accept=True)
    assert state.is_failed()
    assert f"`{empty}` holds no .jsonl" in (state.message or "")
    assert of_readers(url) == before


@pytest.mark.full
def test_a_group_that_is_not_there_fails_the_run_in_one_sentence(url: str) -> None:
    state = run(url, groups=["nothing"])
    assert state.is_failed()
    assert "`nothing`" in (state.message or "")
    assert "\n" not in (state.message or "")
