"""`turnetl migrate cutover`, `rollback` and `finish`: whom the group belongs to."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES
from tests.legacy.graphs import write_legacy_graph
from tests.legacy.migrating import (
    GROUP,
    Migrations,
    dumped,
    fill,
    migrate,
    migrated,
    state_of,
    turnetl,
    without_group,
)
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode
from turnetl.base.clock import now
from turnetl.base.ids import sessions_group, turns_group
from turnetl.base.progress import ProgressUpdate
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.moves import MigrationCommand
from turnetl.settings import load_settings

_WRITTEN_AT = re.compile(r"((?:created|expired)_at\W+)\d[^\"\\]*")
FEW = 3
"""Sessions of a migration whose size is not the point."""
LATE = LegacyEpisode(
    "late",
    "A late note",
    "Alan deployed the shop.",
    "text",
    "note",
    datetime(2026, 9, 2, tzinfo=UTC),
)


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(SAMPLES))


@pytest.mark.full
def test_a_cutover_gives_the_group_to_the_turns_and_a_backfill_adds_nothing(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    state = migrations.ready(tmp_path, graph_url, sessions)
    refused = turnetl(tmp_path, graph_url, "ingest", "--group", GROUP)
    assert (refused.exit_code, "is being migrated" in " ".join(refused.messages)) == (1, True)
    result = migrate(tmp_path, graph_url, "cutover", "--accept")
    assert result.exit_code == 0, result.stderr
    assert result.json["done"]
    assert result.json["migration"]["phase"] == "cut_over"
    assert (result.json["old"]["episodes"], result.json["staying"]) == (len(sessions), 2)
    lines = dumped(graph_url)
    assert not [line for line in lines if turns_group(GROUP) in line]
    old = sessions_group(GROUP, str(state["migration_id"]))
    assert sum(old in line and '"Coding' not in line and "Episodic" in line for line in lines)
    again = turnetl(tmp_path, graph_url, "backfill", SAMPLES, "--group", GROUP, "--json")
    assert again.exit_code == 0, again.stderr
    [group] = again.json["groups"]
    assert (group["committed"], group["already_committed"]) == (0, state["turns"])
    assert dumped(graph_url) == lines
    assert_ordinary_group(tmp_path, graph_url)
    assert len(dumped(graph_url)) == len(lines)
    assert state_of(graph_url).turns == state["turns"]


def assert_ordinary_group(folder: Path, url: str) -> None:
    """The group is verified and searched; turns of it are undone, and ingested again."""
    verified = turnetl(folder, url, "verify", "--json")
    assert verified.exit_code == 0, verified.stdout
    found = turnetl(folder, url, "search", "shop", "--json")
    assert {hit["group"] for hit in found.json["hits"]} == {GROUP}
    [*_, last] = turnetl(folder, url, "timeline", "--json").json["turns"]
    turn = ("--turn", last["turn_id"])
    undone = turnetl(folder, url, "undo", *turn, "--cascade", "--yes", "--json")
    assert undone.exit_code == 0, undone.stderr
    again = turnetl(folder, url, "ingest", "--group", GROUP, "--json")
    assert again.json["committed"] == undone.json["undone"] > 0, again.stderr


@pytest.mark.full
def test_the_group_is_what_a_backfill_makes_and_what_stays(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url, other = (f"ladybug://{tmp_path / name}.lbug" for name in ("migrated", "ordinary"))
    fill(url, sessions)
    state = migrated(tmp_path, url)
    assert migrate(tmp_path, url, "cutover", "--accept").exit_code == 0
    fill(other, ())
    assert turnetl(tmp_path, other, "backfill", SAMPLES, "--group", GROUP).exit_code == 0
    old = sessions_group(GROUP, str(state["migration_id"]))
    group = without_group(dumped(url), old)
    staying = [line for line in group if '"turnetl_granularity":"session"' in line]
    assert len(staying) == 2
    unmarked = sorted(line.replace('"turnetl_granularity":"session",', "") for line in group)
    assert timeless(unmarked) == timeless(dumped(other))


def timeless(lines: list[str]) -> list[str]:
    """Return the lines without the times at which they were written, also in before-images."""
    return sorted(_WRITTEN_AT.sub(r"\1", line) for line in lines)


@pytest.mark.full
def test_a_rollback_restores_the_graph_before_the_cutover(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(graph_url, sessions)
    before_run = dumped(graph_url)
    migrated(tmp_path, graph_url)
    before = dumped(graph_url)
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    cut_over = dumped(graph_url)
    assert cut_over != before
    shown = turnetl(tmp_path, graph_url, "migrate", "rollback", "--dry-run")
    assert (shown.exit_code, "nothing was changed yet" in shown.stdout) == (0, True)
    assert dumped(graph_url) == cut_over
    result = migrate(tmp_path, graph_url, "rollback")
    assert result.exit_code == 0, result.stderr
    assert result.json["migration"]["phase"] == "ready"
    assert dumped(graph_url) == before
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    discarded = migrate(tmp_path, graph_url, "rollback", "--discard")
    assert discarded.exit_code == 0, discarded.stderr
    assert discarded.json["migration"]["phase"] == "finished"
    assert dumped(graph_url) == before_run


@pytest.mark.full
def test_finish_deletes_the_old_data_and_nothing_else(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    state = migrations.ready(tmp_path, graph_url, sessions[:FEW])
    early = migrate(tmp_path, graph_url, "finish")
    assert (early.exit_code, "is not cut over" in early.messages[0]) == (1, True)
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    lines = dumped(graph_url)
    kept = migrate(tmp_path, graph_url, "finish", "--keep-days", "7")
    assert (kept.exit_code, "is kept until" in kept.messages[0]) == (1, True)
    shown = turnetl(tmp_path, graph_url, "migrate", "finish", "--dry-run")
    assert (shown.exit_code, "old data: is deleted" in shown.stdout) == (0, True)
    assert dumped(graph_url) == lines
    result = migrate(tmp_path, graph_url, "finish")
    assert result.exit_code == 0, result.stderr
    assert result.json["migration"]["phase"] == "finished"
    old = sessions_group(GROUP, str(state["migration_id"]))
    assert dumped(graph_url) == without_group(lines, old)
    late = migrate(tmp_path, graph_url, "rollback")
    assert (late.exit_code, "is being migrated" in late.messages[0]) == (2, True)


@pytest.mark.full
def test_a_cutover_needs_a_complete_run_and_a_comparison(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions[:FEW])
    none = migrate(tmp_path, url, "cutover")
    assert (none.exit_code, "no group is being migrated" in none.messages[0]) == (2, True)
    turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--limit", "2")
    early = migrate(tmp_path, url, "cutover", "--accept")
    assert (early.exit_code, "is not ready for a cutover" in early.messages[0]) == (1, True)
    migrated(tmp_path, url)
    before = dumped(url)
    refused = migrate(tmp_path, url, "cutover")
    assert (refused.exit_code, "were not compared" in refused.messages[0]) == (1, True)
    unconfirmed = turnetl(tmp_path, url, "migrate", "cutover", "--accept")
    assert (unconfirmed.exit_code, "add --yes" in unconfirmed.messages[-1]) == (1, True)
    shown = turnetl(tmp_path, url, "migrate", "cutover", "--accept", "--dry-run")
    assert shown.exit_code == 0, shown.stderr
    assert "nothing was changed yet" in shown.stdout
    assert dumped(url) == before


@pytest.mark.full
def test_episodes_that_are_written_during_the_migration_are_named_and_stay(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions[:FEW])
    asyncio.run(write_legacy_graph(graph_url, [LATE], GROUP))
    result = migrate(tmp_path, graph_url, "cutover", "--accept")
    assert result.exit_code == 0, result.stderr
    assert result.json["new_episodes"] == [{"episode": "late", "name": "A late note"}]
    assert "1 episode written since the last run" in result.messages[0]
    [line] = [one for one in dumped(graph_url) if '"uuid":"late"' in one]
    assert json.loads(line)[1]["group_id"] == GROUP
    assert json.loads(line)[1]["turnetl_granularity"] == "session"


@pytest.mark.full
def test_turns_that_were_ingested_after_the_cutover_are_kept_by_a_rollback(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(graph_url, sessions[:2])
    before_run = dumped(graph_url)
    state = migrated(tmp_path, graph_url)
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    more = turnetl(tmp_path, graph_url, "backfill", SAMPLES, "--group", GROUP, "--json")
    assert more.json["committed"] > 0, more.stderr
    result = migrate(tmp_path, graph_url, "rollback")
    assert result.exit_code == 0, result.stderr
    assert result.json["migration"]["turns"] > state["turns"]
    assert without_group(dumped(graph_url), turns_group(GROUP)) == before_run


@pytest.mark.full
def test_a_session_is_forgotten_in_the_turns_of_a_migration_too(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    before = migrations.ready(tmp_path, url, sessions[:FEW])
    session = sessions[0].session_id
    assert _commits(url, session)
    options = ("--session", session, "--cascade", "--yes", "--json")
    forgotten = turnetl(tmp_path, url, "forget", *options)
    assert forgotten.exit_code == 0, forgotten.stderr
    assert not _commits(url, session)
    assert forgotten.json["summarised_in"] == [GROUP]
    assert "`turnetl migrate finish` deletes it" in " ".join(forgotten.messages)
    after = migrated(tmp_path, url)
    assert int(str(after["turns"])) < int(str(before["turns"]))
    assert migrate(tmp_path, url, "cutover", "--accept").exit_code == 0
    assert not _commits(url, session)


@pytest.mark.full
def test_while_a_cutover_is_interrupted_nothing_is_forgotten_and_verify_says_why(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    migrations.ready(tmp_path, url, sessions[:FEW])
    lake = tmp_path / ".turnetl" / "lake"
    settings = load_settings(None, graph=url, lake=lake)
    cutover = ChangeOptions(MigrationCommand.CUTOVER, accept=True)

    def killed(update: ProgressUpdate) -> None:
        if update.name == "turns":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(execute_change(settings, cutover, now, progress=killed))
    before, tables = dumped(url), sorted(lake.rglob("*"))
    assert tables
    session = sessions[0].session_id
    for selection in (("--session", session), ("--match", "tests"), ("--group", GROUP)):
        refused = turnetl(tmp_path, url, "forget", *selection, "--cascade", "--yes")
        assert refused.exit_code == 1
        assert f"`turnetl migrate cutover --group {GROUP}` continues it" in refused.messages[0]
        assert dumped(url) == before
        assert sorted(lake.rglob("*")) == tables
    verified = turnetl(tmp_path, url, "verify", "--group", GROUP)
    assert "its migration is cutting over" in verified.messages[0]
    assert migrate(tmp_path, url, "cutover").exit_code == 0
    verified = turnetl(tmp_path, url, "verify", "--group", GROUP, "--json")
    assert (verified.exit_code, verified.json["groups"][0]["migration"]) == (0, None)


def _commits(url: str, session: str) -> list[str]:
    return [line for line in dumped(url) if '"TurnCommit"' in line and session in line]
