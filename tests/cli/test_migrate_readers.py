"""What the readers of turnetl see of a group while a migration moves its data, on both stores."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import SAMPLES
from tests.legacy.migrating import (
    GROUP,
    Migrations,
    fill,
    migrate,
    migrated,
    set_layout,
    state_of,
    stopped,
    turnetl,
)
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from turnetl.graph.migrations import migration_row
from turnetl.migration.moves import MigrationCommand

CUTOVER, ROLLBACK = MigrationCommand.CUTOVER, MigrationCommand.ROLLBACK
EVERYTHING = ("--since", "2000-01-01")
"""Conditions that all turns and episodes meet."""


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(SAMPLES))[:3]


def found(folder: Path, url: str) -> tuple[set[str], set[str]]:
    """Return the sessions of the turns that a search finds, and the session-level episodes."""
    result = turnetl(folder, url, "search", *EVERYTHING, "-n", "50", "--json")
    assert result.exit_code == 0, result.stderr
    hits = result.json["hits"]
    episodes = [*result.json["session_hits"], *(one for hit in hits for one in hit["session_hits"])]
    return {hit["session_id"] for hit in hits}, {one["episode"] for one in episodes}


def status_of(folder: Path, url: str) -> dict[str, Any]:
    result = turnetl(folder, url, "status", "--json")
    assert result.exit_code == 0, result.stderr
    [group] = result.json["groups"]
    assert group["group"] == GROUP
    return dict(group)


@pytest.mark.full
def test_a_search_finds_the_old_data_or_the_turns_and_never_a_part_of_both(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions)
    named = {session.session_id for session in sessions}
    summaries = {legacy_episode(session, LegacyStyle.NAME).uuid for session in sessions}
    before = found(tmp_path, graph_url)
    assert before[0] == set()
    assert summaries < before[1]
    for steps in (2, 1, 3):
        stopped(tmp_path, graph_url, CUTOVER, steps=steps)
        assert found(tmp_path, graph_url) == before
    assert turnetl(tmp_path, graph_url, "index", "--rebuild").exit_code == 0
    assert found(tmp_path, graph_url) == (set(), set())
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    after = (named, before[1] - summaries)
    assert found(tmp_path, graph_url) == after
    for steps in (2, 4):
        stopped(tmp_path, graph_url, ROLLBACK, steps=steps)
        assert found(tmp_path, graph_url) == (set(), after[1])
    assert migrate(tmp_path, graph_url, "rollback").exit_code == 0
    assert found(tmp_path, graph_url) == before


@pytest.mark.full
def test_status_says_how_far_a_migration_is_and_which_command_continues_it(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(graph_url, sessions)
    assert status_of(tmp_path, graph_url)["migration"] is None
    state = migrated(tmp_path, graph_url)
    ready = status_of(tmp_path, graph_url)
    assert (ready["migration"]["phase"], ready["session_level"]["episodes"]) == ("ready", 5)
    assert ready["migration"]["migration_id"] == state["migration_id"]
    assert (
        "ready for `turnetl ingest`"
        not in turnetl(tmp_path, graph_url, "status", "--verbose").stdout
    )
    stopped(tmp_path, graph_url, CUTOVER, steps=6)
    middle = status_of(tmp_path, graph_url)
    assert (middle["migration"]["phase"], middle["session_level"]) == ("cutting_over", None)
    printed = turnetl(tmp_path, graph_url, "status", "--verbose")
    assert f"(migration {state['migration_id']}: cutting over)" in " ".join(printed.stdout.split())
    [message] = printed.messages
    assert f"`turnetl migrate cutover --group {GROUP}` continues it" in message
    assert f"`turnetl migrate rollback --group {GROUP}` takes it back" in message
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    complete = status_of(tmp_path, graph_url)
    assert (complete["migration"]["phase"], complete["session_level"]["episodes"]) == (
        "cut_over",
        2,
    )
    assert complete["committed"] == state["turns"]
    again = migrate(tmp_path, graph_url, "cutover", "--accept")
    assert (again.exit_code, "is cut over already" in again.messages[0]) == (1, True)
    run = turnetl(tmp_path, graph_url, "migrate", "run", SAMPLES)
    assert (run.exit_code, "its migration `" in run.messages[0]) == (1, True)
    assert "is cut over; `turnetl migrate finish" in run.messages[0]
    assert migrate(tmp_path, graph_url, "finish").exit_code == 0
    assert status_of(tmp_path, graph_url)["migration"] is None


@pytest.mark.full
def test_a_migration_of_another_version_is_shown_and_refused_with_a_sentence(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions[:1])
    assert turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--limit", "1").exit_code == 0
    state = json.loads(migration_row(state_of(url))["state"]) | {"layout": 7}
    changes = (
        ("run", (str(SAMPLES),)),
        ("compare", ()),
        ("cutover", ("--accept", "--yes")),
        ("rollback", ("--yes",)),
        ("rollback", ("--discard", "--yes")),
        ("finish", ("--yes",)),
    )
    # The last one is a phase that this version does not know.
    for phase, refused_changes in (
        ("running", changes),
        ("cutting_over", changes[2:3]),
        ("verifying", changes[:1]),
    ):
        set_layout(url, state=json.dumps(state | {"phase": phase}))
        expected = "unknown" if phase == "verifying" else phase
        assert status_of(tmp_path, url)["migration"]["phase"] == expected
        for command, options in refused_changes:
            refused = turnetl(tmp_path, url, "migrate", command, *options)
            assert refused.exit_code == 1
            sentence = "was begun by another version of turnetl (layout 7; this version writes"
            assert sentence in refused.messages[-1]
    written = turnetl(tmp_path, url, "ingest", "--group", GROUP)
    assert written.exit_code == 1
    assert "is being migrated" in " ".join(written.messages)


@pytest.mark.full
def test_a_state_that_cannot_be_read_at_all_is_a_sentence(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(graph_url, sessions[:1])
    assert turnetl(tmp_path, graph_url, "migrate", "run", SAMPLES, "--limit", "1").exit_code == 0
    set_layout(graph_url, state="{}")
    for command in (("migrate", "cutover", "--yes"), ("status",), ("migrate", "run", SAMPLES)):
        refused = turnetl(tmp_path, graph_url, *command)
        assert refused.exit_code == 1
        assert "a migration that this version of turnetl cannot read" in refused.messages[-1]
