"""Summaries of sessions in the graph: written with each turn, and taken back with it."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from graphiti_core.nodes import SagaNode

from tests import builders
from tests.builders import GROUP, START, tool
from tests.graph.committing import opened
from tests.graph.test_graphiti_reads import graphiti
from tests.ingestion.test_turn_summaries import ingest
from tests.ingestion.undo_runs import plan, undo
from turnetl.base.model import Episode, SessionId
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.summaries.group_sagas import sagas_of

FAILED, PASSED = "FAILED tests/test_cart.py - KeyError: 'price'", "12 passed in 0.3s"


def turn(session: str, hours: float, prompt: str, output: str, answer: str) -> Episode:
    return builders.episode(
        f"p{hours}",
        session_id=session,
        ordinal=int(hours * 10),
        git_branch="ann/fix",
        started_at=START + timedelta(hours=hours),
        user_text=prompt,
        assistant_text=answer,
        tool_calls=(tool("Bash", "pytest -q", output, is_error=output is FAILED),),
    )


FIRST = turn("one", 0, "Why do the tests fail?", FAILED, "I looked.\n\nA price is missing.")
SECOND = turn("one", 1, "We decided to use cents, not floats.", FAILED, "Understood.")
THIRD = turn("two", 2, "Run the tests again.", PASSED, "They pass.")
TURNS = (FIRST, SECOND, THIRD)


async def summaries(url: str) -> dict[str, str]:
    """Return the summary of each session, as Graphiti reads it."""
    driver = await graphiti(url)
    sagas = await SagaNode.get_by_group_ids(driver, [GROUP])
    await driver.close()
    return {saga.name: saga.summary for saga in sagas}


async def filled(url: str, lake: Path, runs: Sequence[Sequence[Episode]]) -> dict[str, str]:
    async with opened(url) as store:
        for number, episodes in enumerate(runs):
            contents = await ingest(store, lake, list(episodes), f"run-{number}")
    found = await summaries(url)
    sagas = sagas_of(contents)
    assert found == {name: sagas.text(SessionId(name)) for name in found}
    return found


@pytest.mark.full
async def test_a_session_has_intent_outcome_and_what_is_open_until_a_later_session_solves_it(
    graph_url: str, tmp_path: Path
) -> None:
    before = await filled(graph_url, tmp_path, [[FIRST]])
    assert before["one"].splitlines() == [
        "Asked, 2026-03-02: Why do the tests fail?",
        "Open problem: `pytest -q` failed with `KeyError: 'price'` in `test_cart.py`",
        "Outcome: A price is missing.",
    ]
    after = await filled(graph_url, tmp_path, [[SECOND], [THIRD]])
    assert "Outcome: Understood." in after["one"]
    assert "cents" in after["one"]
    assert "Open problem" not in after["one"]
    assert after["two"].startswith("Asked, 2026-03-02: Run the tests again.\nOutcome: They pass.")


@pytest.mark.full
@pytest.mark.parametrize("place", range(3))
async def test_an_undo_leaves_the_summaries_of_the_turns_that_stay(
    graph_url: str, tmp_path: Path, place: int
) -> None:
    await filled(graph_url, tmp_path, [TURNS])
    async with opened(graph_url) as store:
        selection = UndoSelection(turn=TURNS[place].turn_id)
        await undo(store, await plan(store, GROUP, selection, cascade=True))
        contents = await store.load(GROUP)
    sagas = sagas_of(contents)
    found = await summaries(graph_url)
    assert found == {name: sagas.text(SessionId(name)) for name in found}
    assert len(found) == len({receipt.session_id for receipt in contents.receipts})


@pytest.mark.full
async def test_runs_of_a_turn_each_summarise_as_one_run_does(
    graph_url: str, tmp_path: Path
) -> None:
    one = await filled(graph_url, tmp_path, [TURNS])
    async with opened(graph_url) as store:
        await undo(store, await plan(store, GROUP, UndoSelection(run="run-0")))
    assert await summaries(graph_url) == {}
    assert await filled(graph_url, tmp_path, [[THIRD], [FIRST], [SECOND]]) != {}
    async with opened(graph_url) as store:
        await undo(store, await plan(store, GROUP, UndoSelection(groups=(GROUP,)), cascade=True))
    assert await filled(graph_url, tmp_path, [[each] for each in TURNS]) == one
