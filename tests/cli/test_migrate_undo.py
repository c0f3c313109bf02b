"""The run of a migration is undone before its cutover and after it, on both stores."""

from pathlib import Path

import pytest

from tests.cli.command import SAMPLES
from tests.legacy.migrating import (
    GROUP,
    Migrations,
    dumped,
    fill,
    migrate,
    migrated,
    of_readers,
    stopped,
    turnetl,
    without_group,
)
from tests.legacy.sessions import LegacySession, legacy_sessions
from turnetl.base.ids import turns_group
from turnetl.migration.moves import MigrationCommand


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(SAMPLES))[:3]


def run_of(folder: Path, url: str) -> tuple[str, str]:
    """Return the id and the state of the latest run."""
    latest, *_ = turnetl(folder, url, "runs", "--json").json["runs"]
    return latest["run_id"], latest["state"]


@pytest.mark.full
def test_a_run_is_undone_before_the_cutover_and_after_it_and_the_old_data_are_taken_back(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(graph_url, sessions)
    before_run = dumped(graph_url)
    state = migrated(tmp_path, graph_url)
    run, outcome = run_of(tmp_path, graph_url)
    assert outcome == "done"
    undone = turnetl(tmp_path, graph_url, "undo", run, "--yes", "--json")
    assert undone.exit_code == 0, undone.stderr
    [group] = undone.json["groups"]
    assert (group["group"], undone.json["undone"]) == (turns_group(GROUP), state["turns"])
    assert dumped(graph_url) == before_run
    assert run_of(tmp_path, graph_url) == (run, "undone")
    refused = migrate(tmp_path, graph_url, "cutover", "--accept")
    assert refused.exit_code == 1
    assert "are no longer in the graph; `turnetl migrate run ARCHIVES" in refused.messages[0]
    assert migrated(tmp_path, graph_url)["turns"] == state["turns"]
    run, _ = run_of(tmp_path, graph_url)
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    undone = turnetl(tmp_path, graph_url, "undo", run, "--yes", "--json")
    assert undone.exit_code == 0, undone.stderr
    [group] = undone.json["groups"]
    assert (group["group"], undone.json["undone"]) == (GROUP, state["turns"])
    assert migrate(tmp_path, graph_url, "rollback", "--discard").exit_code == 0
    assert dumped(graph_url) == before_run


def test_no_turn_is_undone_while_a_migration_moves_it(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions)
    run, _ = run_of(tmp_path, graph_url)
    stopped(tmp_path, graph_url, MigrationCommand.CUTOVER, steps=5)
    before = dumped(graph_url)
    refused = turnetl(tmp_path, graph_url, "undo", run, "--yes")
    assert refused.exit_code == 1
    assert f"group `{GROUP}` is being migrated" in refused.messages[-1]
    assert dumped(graph_url) == before


@pytest.mark.full
def test_a_discarded_run_is_marked_and_its_tables_stay_in_the_lake_with_a_sentence(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    state = migrations.ready(tmp_path, graph_url, sessions)
    run, _ = run_of(tmp_path, graph_url)
    tables = sorted((tmp_path / ".turnetl" / "lake" / "turns" / GROUP).iterdir())
    assert tables
    discarded = migrate(tmp_path, graph_url, "rollback", "--discard")
    assert discarded.exit_code == 0, discarded.stderr
    assert "the next `turnetl ingest` adds them to the group" in " ".join(discarded.messages)
    assert run_of(tmp_path, graph_url) == (run, "undone")
    shown = turnetl(tmp_path, graph_url, "runs", "show", run, "--json").json
    assert (shown["state"], shown["in_graph"]) == ("undone", 0)
    assert shown["undone_at"]
    again = turnetl(tmp_path, graph_url, "undo", run, "--yes")
    assert (again.exit_code, "was undone at" in again.messages[-1]) == (2, True)
    assert sorted((tmp_path / ".turnetl" / "lake" / "turns" / GROUP).iterdir()) == tables
    ingested = turnetl(tmp_path, graph_url, "ingest", "--group", GROUP, "--json")
    assert ingested.json["committed"] >= state["turns"], ingested.stderr


@pytest.mark.full
def test_a_run_of_which_another_group_has_turns_stays_as_it_is(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    for group, some in ((GROUP, sessions[:1]), ("other-summaries", sessions[1:])):
        fill(url, some, group=group)
    assert turnetl(tmp_path, url, "migrate", "run", SAMPLES).exit_code == 0
    before = dumped(url)
    several = migrate(tmp_path, url, "rollback", "--discard")
    assert (several.exit_code, "name one of" in several.messages[0]) == (2, True)
    assert migrate(tmp_path, url, "rollback", "--discard", "--group", GROUP).exit_code == 0
    assert run_of(tmp_path, url)[1] == "done"
    other = without_group(before, turns_group(GROUP))
    assert of_readers(url, GROUP) == other
