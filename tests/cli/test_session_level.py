"""Search and status over turns and session-level data that were never migrated, on both stores."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.graph.graph_dump import dump_graph
from tests.legacy.graphs import write_foreign_data, write_legacy_graph
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode
from turnetl.base.model import GroupId

SHOP = SAMPLES / "bookshop" / "2026-03-03-checkout.jsonl"
GROUP = GroupId("bookshop")
"""The group of the turns of the archive, too."""
QUERY = "why do the checkout tests fail"


@pytest.fixture(scope="module")
def session() -> LegacySession:
    [found] = legacy_sessions(SHOP)
    return found


def run(folder: Path, graph: str, *arguments: str | Path) -> CommandResult:
    words = map(str, arguments)
    result = run_in_process(*words, "--graph", graph, "--lake", "lake", folder=folder)
    assert result.exit_code == 0, result.stderr
    return result


def fill(url: str, episodes: Sequence[LegacyEpisode]) -> None:
    async def write() -> None:
        await write_legacy_graph(url, episodes, GROUP)
        await write_foreign_data(url, GROUP)

    asyncio.run(write())


def search(folder: Path, graph: str, *arguments: str) -> dict[str, Any]:
    return run(folder, graph, "search", *arguments, "--nearest", "--json").json


@pytest.mark.full
def test_a_hit_is_under_the_best_turn_of_its_session_and_undo_and_verify_are_the_same(
    graph_url: str, tmp_path: Path, session: LegacySession
) -> None:
    named = legacy_episode(session, LegacyStyle.NAME)
    fill(graph_url, [named])
    dump = asyncio.run(dump_graph(graph_url))
    run(tmp_path, graph_url, "backfill", SHOP)
    found = search(tmp_path, graph_url, QUERY)
    of_session = [hit for hit in found["hits"] if hit["session_id"] == session.session_id]
    assert len(of_session) > 1
    under = [[one["episode"] for one in hit["session_hits"]] for hit in of_session]
    assert under == [[named.uuid], *([] for _ in of_session[1:])]
    [below] = of_session[0]["session_hits"]
    assert below["session_id"] == session.session_id
    assert below["name"] == named.name
    assert named.uuid not in [one["episode"] for one in found["session_hits"]]
    printed = run(tmp_path, graph_url, "search", QUERY).stdout
    assert f"session level  session {session.session_id}" in printed
    assert_conditions_of_turns(tmp_path, graph_url)
    assert run(tmp_path, graph_url, "verify", "--json").json["wrong"] == 0
    run(tmp_path, graph_url, "undo", "--group", GROUP, "--yes")
    found = search(tmp_path, graph_url, QUERY)
    assert found["hits"] == []
    assert named.uuid in [one["episode"] for one in found["session_hits"]]
    assert asyncio.run(dump_graph(graph_url)) == dump


def assert_conditions_of_turns(folder: Path, url: str) -> None:
    """Conditions that only turns meet leave session-level data out."""
    for condition in (("--tool", "Bash"), ("--format", "claude_code")):
        found = search(folder, url, QUERY, *condition)
        assert found["hits"]
        assert found["session_hits"] == []
        assert all(hit["session_hits"] == [] for hit in found["hits"])
    before = search(folder, url, QUERY, "--until", "2020")
    assert (before["hits"], before["session_hits"]) == ([], [])


@pytest.mark.full
def test_an_episode_that_names_no_session_is_alone_with_a_mark_and_leads_to_no_turn(
    graph_url: str, tmp_path: Path, session: LegacySession
) -> None:
    nameless = legacy_episode(session, LegacyStyle.NOWHERE)
    fill(graph_url, [nameless])
    run(tmp_path, graph_url, "backfill", SHOP)
    found = search(tmp_path, graph_url, QUERY)
    alone = {one["episode"]: one for one in found["session_hits"]}
    assert alone[nameless.uuid]["session_id"] is None
    assert {"turn_id", "archive", "first_line"}.isdisjoint(alone[nameless.uuid])
    assert all(hit["session_hits"] == [] for hit in found["hits"])
    [lunch] = search(tmp_path, graph_url, "release party at the harbour", "-n", "1")["session_hits"]
    assert (lunch["name"], lunch["session_id"]) == ("Team lunch", None)
    printed = run(tmp_path, graph_url, "search", "release party at the harbour").stdout
    assert "session level  no session named" in printed


@pytest.mark.full
def test_a_graph_without_a_turn_is_searched_and_counted(
    graph_url: str, tmp_path: Path, session: LegacySession
) -> None:
    named = legacy_episode(session, LegacyStyle.DESCRIPTION)
    fill(graph_url, [named])
    found = search(tmp_path, graph_url, session.summary[:60], "--group", GROUP, "-n", "1")
    [first] = found["session_hits"]
    assert (first["episode"], first["session_id"]) == (named.uuid, session.session_id)
    [group] = run(tmp_path, graph_url, "status", "--json").json["groups"]
    assert (group["group"], group["turns"], group["episodes"]) == (GROUP, 0, 3)
    assert group["session_level"]["episodes"] == 3


@pytest.mark.full
def test_status_counts_each_fact_once_whoever_states_it(
    graph_url: str, tmp_path: Path, session: LegacySession
) -> None:
    run(tmp_path, graph_url, "backfill", SHOP)
    [before] = run(tmp_path, graph_url, "status", "--json").json["groups"]
    assert before["session_level"] is None
    fill(graph_url, [legacy_episode(session, LegacyStyle.NAME)])
    [after] = run(tmp_path, graph_url, "status", "--json").json["groups"]
    own = after["session_level"]
    assert own["episodes"] == 3
    assert own["facts"] > 0
    for name in ("episodes", "entities", "facts"):
        assert after[name] == before[name] + own[name]
    assert after["committed"] == before["committed"]
    printed = run(tmp_path, graph_url, "status", "--verbose").stdout
    assert "session level" in " ".join(printed.split())


@pytest.mark.full
def test_a_graph_of_turns_gets_no_second_index(tmp_path: Path) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    run(tmp_path, url, "backfill", SHOP)
    search(tmp_path, url, QUERY)
    assert [*(tmp_path / "lake" / "index").glob("*/sessions")] == []
