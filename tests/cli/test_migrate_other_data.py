"""What other programs have in a migrated group, or write meanwhile: nothing is lost."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ladybug
import pytest
from neo4j import GraphDatabase

from tests.cli.command import SAMPLES
from tests.cli.test_migrate_cutover import LATE
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
)
from tests.legacy.sessions import LegacySession
from tests.legacy.styles import LegacyStyle, legacy_episode
from tests.migration.killed_changes import few_sessions
from turnetl.base.clock import now
from turnetl.base.ids import sessions_group, turns_group
from turnetl.base.progress import ProgressUpdate
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.moves import MigrationCommand
from turnetl.settings import load_settings


@pytest.fixture(scope="module")
def sessions() -> Sequence[LegacySession]:
    return few_sessions()


@pytest.mark.full
def test_what_a_relation_of_another_program_uses_stays_and_is_counted(
    graph_url: str, tmp_path: Path, sessions: Sequence[LegacySession]
) -> None:
    fill(graph_url, sessions)
    [[file]] = queried(graph_url, "MATCH (e:Entity) WHERE e.name <> 'Ada' RETURN min(e.uuid)")
    add_ticket(graph_url, file)
    before = dumped(graph_url)
    migrated(tmp_path, graph_url)
    shown = turnetl(tmp_path, graph_url, "migrate", "cutover", "--accept", "--dry-run", "--json")
    assert shown.json["kept"]["entities"] == 1
    assert migrate(tmp_path, graph_url, "cutover", "--accept").json["kept"]["entities"] == 1
    late = next(uuid for uuid in _archived(graph_url) if uuid != file)
    queried(
        graph_url,
        f"MATCH (t:Ticket), (e:Entity {{uuid: '{late}'}}) CREATE (t)-[:ABOUT]->(e) RETURN 1",
    )
    text = turnetl(tmp_path, graph_url, "migrate", "finish", "--dry-run").stdout
    assert "used by other data" in text
    assert migrate(tmp_path, graph_url, "finish").json["kept"]["entities"] == 1
    of_tickets = queried(graph_url, "MATCH (:Ticket)-[:ABOUT]->(e:Entity) RETURN e.uuid")
    assert sorted(uuid for [uuid] in of_tickets) == sorted((file, late))
    assert [line for line in before if '"Ticket"' in line and "ABOUT" not in line]


@pytest.mark.full
def test_what_an_episode_of_another_program_uses_since_the_plan_stays(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: Sequence[LegacySession]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions)
    facts: list[str] = []

    def progress(update: ProgressUpdate) -> None:
        # An embedded graph has one writer: there it is written before the cutover.
        if update.name == "old data" and not facts:
            facts.append(state_late_fact(graph_url, GROUP))

    if graph_url.startswith("ladybug"):
        facts.append(state_late_fact(graph_url, GROUP))
    settings = load_settings(None, graph=graph_url, lake=tmp_path / "lake")
    options = ChangeOptions(MigrationCommand.CUTOVER, accept=True)
    report = asyncio.run(execute_change(settings, options, now, progress=progress))
    assert [one.uuid for one in report.new_episodes] == ["late"]
    assert 'granularity":"session' in _line(graph_url, "late")
    assert json.loads(_line(graph_url, facts[0]))[1]["group_id"] == GROUP
    assert migrate(tmp_path, graph_url, "finish").exit_code == 0
    assert _line(graph_url, facts[0])


@pytest.mark.full
def test_what_another_program_states_or_writes_into_the_old_group_is_not_deleted(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: Sequence[LegacySession]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions)
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    old = sessions_group(GROUP, state_of(graph_url).migration_id)
    fact = state_late_fact(graph_url, old)
    asyncio.run(write_legacy_graph(graph_url, [replace(LATE, uuid="later")], old))
    kept = migrate(tmp_path, graph_url, "finish").json["kept"]
    assert (kept["episodes"], kept["facts"], kept["entities"]) == (1, 1, 2)
    assert json.loads(_line(graph_url, fact))[1]["group_id"] == GROUP
    later = queried(graph_url, "MATCH (e:Episodic {uuid: 'later'}) RETURN e.group_id, e.content")
    assert later == [[GROUP, LATE.body]]
    assert old not in " ".join(dumped(graph_url))


@pytest.mark.full
def test_an_episode_that_a_relation_uses_stays_and_a_property_named_granularity_too(
    graph_url: str, tmp_path: Path, sessions: Sequence[LegacySession]
) -> None:
    fill(graph_url, sessions)
    episode = legacy_episode(sessions[0], LegacyStyle.NAME).uuid
    add_ticket(graph_url, episode, "Episodic")
    if graph_url.startswith("ladybug"):
        queried(graph_url, "ALTER TABLE Episodic ADD granularity STRING")
    lunch = "MATCH (e:Episodic {name: 'Team lunch'})"
    queried(graph_url, f"{lunch} SET e.granularity = 'document' RETURN 1")
    migrated(tmp_path, graph_url)
    before = dumped(graph_url)
    cut_over = migrate(tmp_path, graph_url, "cutover", "--accept")
    assert cut_over.json["kept"]["episodes"] == 1
    kept = json.loads(_line(graph_url, episode))[1]
    assert (kept["group_id"], kept["turnetl_granularity"]) == (GROUP, "session")
    assert queried(graph_url, f"{lunch} RETURN e.granularity") == [["document"]]
    assert migrate(tmp_path, graph_url, "rollback").exit_code == 0
    assert dumped(graph_url) == before


@pytest.mark.full
def test_a_group_of_another_program_with_the_name_of_the_shadow_group_is_not_touched(
    graph_url: str, tmp_path: Path, sessions: Sequence[LegacySession]
) -> None:
    fill(graph_url, sessions)
    asyncio.run(write_legacy_graph(graph_url, [LATE], turns_group(GROUP)))
    before = dumped(graph_url)
    refused = turnetl(tmp_path, graph_url, "migrate", "run", SAMPLES, "--group", GROUP)
    assert (refused.exit_code, "data of another program" in refused.messages[0]) == (2, True)
    assert dumped(graph_url) == before


@pytest.mark.full
def test_communities_that_are_built_after_a_cutover_are_taken_back_and_data_of_others_stay(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: Sequence[LegacySession]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions)
    before = dumped(graph_url)
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    assert turnetl(tmp_path, graph_url, "communities", "build").exit_code == 0
    assert _community(graph_url, GROUP) == [["people"]]
    built = queried(graph_url, "MATCH (c:Community) RETURN count(*)")
    assert built[0][0] > 1
    assert migrate(tmp_path, graph_url, "rollback").exit_code == 0
    kept = [line for line in dumped(graph_url) if not _is_of_shadow_communities(line)]
    assert kept == before
    asyncio.run(write_legacy_graph(graph_url, [LATE], turns_group(GROUP)))
    assert migrate(tmp_path, graph_url, "cutover", "--accept").exit_code == 0
    assert migrate(tmp_path, graph_url, "rollback", "--discard").exit_code == 0
    assert json.loads(_line(graph_url, "late"))[1]["group_id"] == turns_group(GROUP)


def _community(url: str, group: str) -> list[Any]:
    """Return the names of the communities of other programs."""
    query = f"MATCH (c:Community) WHERE c.group_id = '{group}' AND c.name = 'people' RETURN c.name"
    return queried(url, query)


def _is_of_shadow_communities(line: str) -> bool:
    """Return whether the line is of a community of turns, or of a member of one."""
    return (turns_group(GROUP) in line and '"Community"' in line) or (
        "HAS_MEMBER" in line and (turns_group(GROUP) in line)
    )


def queried(url: str, query: str) -> list[Any]:
    """Return the rows of a query, run without turnetl."""
    parts = urlsplit(url)
    if parts.scheme == "ladybug":
        with ladybug.Database(parts.path) as database, ladybug.Connection(database) as connection:
            return connection.execute(query).get_all()  # type: ignore[union-attr]
    address = f"bolt://{parts.hostname}:{parts.port}"
    auth = (parts.username or "", parts.password or "")
    with GraphDatabase.driver(address, auth=auth, telemetry_disabled=True) as driver:
        records, _, _ = driver.execute_query(query)
        return [record.values() for record in records]


def add_ticket(url: str, node: str, label: str = "Entity") -> None:
    """Add a node and a relation of types that Graphiti does not have."""
    if url.startswith("ladybug"):
        queried(url, "CREATE NODE TABLE Ticket(uuid STRING PRIMARY KEY, number INT64)")
        queried(url, f"CREATE REL TABLE ABOUT(FROM Ticket TO {label})")
    queried(url, "CREATE (t:Ticket {uuid: 'ticket', number: 1}) RETURN 1")
    found = f"MATCH (t:Ticket), (e:{label} {{uuid: '{node}'}})"
    queried(url, f"{found} CREATE (t)-[:ABOUT]->(e) RETURN 1")


def state_late_fact(url: str, group: str) -> str:
    """Let a new episode of the group state a fact of old data; return the fact's uuid."""
    if url.startswith("ladybug"):
        fact, append = "RelatesToNode_", "list_append(f.episodes, 'late')"
        pattern = f"(f:{fact})"
    else:
        pattern, append = "()-[f:RELATES_TO]->()", "f.episodes + ['late']"
    [[uuid]] = queried(url, f"MATCH {pattern} WHERE f.group_id = '{group}' RETURN min(f.uuid)")
    queried(url, f"MATCH {pattern} WHERE f.uuid = '{uuid}' SET f.episodes = {append} RETURN f.uuid")
    queried(url, _LATE_EPISODE)
    return str(uuid)


_LATE_EPISODE = f"""
CREATE (:Episodic {{uuid: 'late', name: 'late', group_id: '{GROUP}', content: 'once more',
    source: 'text', source_description: 'note'}}) RETURN 1
"""


def _archived(url: str) -> list[str]:
    old = sessions_group(GROUP, state_of(url).migration_id)
    rows = queried(url, f"MATCH (e:Entity) WHERE e.group_id = '{old}' RETURN e.uuid")
    return sorted(uuid for [uuid] in rows)


def _line(url: str, uuid: str) -> str:
    """Return the line of the node or fact with this uuid."""
    [line] = [one for one in dumped(url) if json.loads(one)[1].get("uuid") == uuid]
    return line
