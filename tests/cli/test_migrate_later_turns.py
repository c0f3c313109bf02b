"""Turns that change data of other programs after a cutover: a rollback names them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.cli.test_migrate_other_data import queried
from tests.estimation.varied_turns import write_turns
from tests.legacy.graphs import write_legacy_graph, write_note
from tests.legacy.migrating import GROUP, dumped, without_group
from tests.legacy.sessions import legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from tests.servers.provider import FakeProvider
from turnetl.base.ids import turns_group


@pytest.mark.full
@pytest.mark.parametrize(
    ("graph_url", "are_labelled"),
    [
        pytest.param("ladybug", False, id="labels"),
        pytest.param("ladybug", True, id="summaries"),
        pytest.param("neo4j", False, id="neo4j", marks=pytest.mark.neo4j),
    ],
    indirect=["graph_url"],
)
def test_a_rollback_asks_to_undo_turns_that_changed_data_of_another_program(
    graph_url: str, tmp_path: Path, provider: FakeProvider, *, are_labelled: bool
) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    write_turns(first / "shop.jsonl", 5)
    write_turns(later / "barn.jsonl", 5, "barn")
    model = model_environment(provider)

    def run(*arguments: str | Path, graph: str = graph_url) -> CommandResult:
        words = (*map(str, arguments), "--graph", graph)
        return run_in_process(*words, folder=tmp_path, **model)

    other = f"ladybug://{tmp_path / 'other.lbug'}"
    assert run("backfill", later, graph=other).exit_code == 0
    entities = entities_of(other)
    summaries = [legacy_episode(one, LegacyStyle.NAME) for one in legacy_sessions(first)]
    asyncio.run(write_legacy_graph(graph_url, summaries, GROUP))
    # The turns find these entities: with the labels of the model, only summaries are new.
    labels = {name: found if are_labelled else [] for name, found in entities}
    asyncio.run(write_note(graph_url, GROUP, labels, summary="" if are_labelled else None))
    before = dumped(graph_url)
    assert run("migrate", "run", first).exit_code == 0
    assert run("migrate", "cutover", "--accept", "--yes").exit_code == 0
    ingested = run("backfill", later, "--group", GROUP, "--json")
    assert ingested.json["committed"] > 0, ingested.stderr
    refused = run("migrate", "rollback", "--yes")
    assert refused.exit_code == 1
    assert f"`turnetl undo {ingested.json['run_id']}`" in refused.messages[0]
    assert run("undo", ingested.json["run_id"], "--yes").exit_code == 0
    assert run("migrate", "rollback", "--yes").exit_code == 0
    assert without_group(dumped(graph_url), turns_group(GROUP)) == before


def entities_of(url: str) -> list[Any]:
    """Return names and labels of all entities of an embedded graph."""
    return queried(url, "MATCH (e:Entity) RETURN e.name, e.labels ORDER BY e.name")
