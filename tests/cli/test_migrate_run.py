"""`turnetl migrate run`: turns beside the old data, which no reader sees."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.cli.command import ROOT, SAMPLES, run_in_process
from tests.graph.statements import run_statements
from tests.legacy.graphs import write_legacy_graph
from tests.legacy.migrating import (
    GROUP,
    Migrations,
    dumped,
    fill,
    migrate,
    migrated,
    of_readers,
    state_of,
    turnetl,
)
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from tests.servers.s3_server import S3Server
from turnetl.base.ids import turns_group


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(SAMPLES))


@pytest.mark.full
def test_the_turns_are_ingested_beside_the_old_data_which_stays_and_no_reader_sees_them(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(graph_url, sessions)
    before = dumped(graph_url)
    result = turnetl(tmp_path, graph_url, "migrate", "run", SAMPLES, "--json")
    assert result.exit_code == 0, result.stderr
    [migration] = result.json["migrations"]
    assert (migration["group"], migration["phase"]) == (GROUP, "ready")
    assert migration["turns"] == result.json["ingest"]["committed"] > len(sessions)
    assert (migration["moved"], migration["staying"]) == (len(sessions), 2)
    assert of_readers(graph_url) == before
    again = turnetl(tmp_path, graph_url, "migrate", "run", SAMPLES, "--json")
    assert again.exit_code == 0, again.stderr
    assert again.json["ingest"]["committed"] == 0
    assert again.json["migrations"] == result.json["migrations"]
    assert of_readers(graph_url) == before
    assert_unseen(tmp_path, graph_url)


def assert_unseen(folder: Path, url: str) -> None:
    """Readers see nothing of the turns unless they name their group."""
    status = turnetl(folder, url, "status", "--json")
    assert [(one["group"], one["committed"]) for one in status.json["groups"]] == [(GROUP, 0)]
    index = turnetl(folder, url, "index", "--json")
    assert index.json["turns"] == 0, index.stderr
    assert turnetl(folder, url, "search", "tests", "--json").json["hits"] == []
    digest = turnetl(folder, url, "digest", "--since", "2020-01-01", "--json")
    assert turns_group(GROUP) not in digest.stdout
    named = turnetl(folder, url, "status", "--group", turns_group(GROUP), "--json")
    [of_shadow] = named.json["groups"]
    assert of_shadow["committed"] > 0


@pytest.mark.full
def test_the_archives_may_be_in_a_bucket(
    tmp_path: Path, sessions: tuple[LegacySession, ...], s3: S3Server
) -> None:
    url, bucket = f"ladybug://{tmp_path / 'graph.lbug'}", s3.new_bucket()
    fill(url, sessions)
    for path in (path for path in SAMPLES.rglob("*") if path.is_file()):
        s3.objects(bucket).put(f"x/{path.relative_to(SAMPLES).as_posix()}", path.read_bytes())
    result = run_in_process(
        *("migrate", "run", f"s3://{bucket}/x", "--graph", url, "--lake", "lake", "--json"),
        folder=tmp_path,
        **s3.environment,
    )
    assert result.exit_code == 0, result.stderr
    assert [one["phase"] for one in result.json["migrations"]] == ["ready"]
    assert result.json["ingest"]["committed"] > len(sessions)


@pytest.mark.full
def test_an_interrupted_run_is_continued_and_other_archives_add_their_sessions(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions)
    first = turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--limit", "3", "--json")
    [migration] = first.json["migrations"]
    assert (migration["phase"], first.json["ingest"]["committed"]) == ("running", 3)
    assert "turns are missing; `turnetl migrate run ARCHIVES --group" in " ".join(first.messages)
    second = turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--json")
    [continued] = second.json["migrations"]
    assert continued["migration_id"] == migration["migration_id"]
    assert continued["phase"] == "ready"
    assert continued["turns"] == second.json["ingest"]["committed"] + 3


def test_a_dry_run_writes_nothing(tmp_path: Path, sessions: tuple[LegacySession, ...]) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions[:1])
    before = dumped(url)
    result = turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--dry-run", "--lake", "lake")
    assert result.exit_code == 0, result.stderr
    assert "nothing was written" in result.stdout
    assert dumped(url) == before
    assert not (tmp_path / "lake").exists()


@pytest.mark.full
def test_a_graph_without_session_level_data_has_nothing_to_migrate(tmp_path: Path) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    assert turnetl(tmp_path, url, "backfill", SAMPLES).exit_code == 0
    result = turnetl(tmp_path, url, "migrate", "run", SAMPLES)
    assert result.exit_code == 1
    assert "the graph holds no session-level data" in result.messages[0]


@pytest.mark.full
def test_embeddings_of_other_dimensions_are_refused_before_the_first_write(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions[:1], dimensions=12)
    before = dumped(url)
    result = turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--group", GROUP, "--lake", "lake")
    assert result.exit_code == 2
    assert "has embeddings of 12 dimensions" in result.messages[0]
    assert dumped(url) == before
    assert not (tmp_path / "lake").exists()


@pytest.mark.full
def test_a_group_with_turns_of_its_own_is_refused(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions[:2], group="mine")
    filled = turnetl(tmp_path, url, "backfill", SAMPLES, "--group", "mine")
    assert filled.exit_code == 0, filled.stderr
    result = turnetl(tmp_path, url, "migrate", "run", SAMPLES)
    assert result.exit_code == 1
    assert "group `mine` holds turns of turnetl already" in result.messages[0]


@pytest.mark.full
def test_a_group_that_is_past_its_run_does_not_keep_others_from_theirs(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions[:2], group="first")
    assert turnetl(tmp_path, url, "migrate", "run", SAMPLES).exit_code == 0
    assert migrate(tmp_path, url, "cutover", "--accept").exit_code == 0
    late = legacy_episode(sessions[2], LegacyStyle.NAME)
    asyncio.run(write_legacy_graph(url, [late], "first"))
    fill(url, sessions[3:4], group="second")
    result = turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--json")
    assert result.exit_code == 0, result.stderr
    assert [one["group"] for one in result.json["migrations"]] == ["second"]
    assert "group `first`: its migration" in " ".join(result.messages)
    named = turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--group", "first")
    assert named.exit_code == 2


@pytest.mark.full
def test_a_decision_of_a_person_holds_for_an_episode_that_an_earlier_run_matched(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    migrations.ready(tmp_path, url, sessions[:2])
    episode, *others = state_of(url).moved
    decided = tmp_path / "plan.tsv"
    decided.write_text(f"episode\tsession\n{episode}\tforeign\n")
    again = turnetl(tmp_path, url, "migrate", "run", SAMPLES, "--plan", decided)
    assert again.exit_code == 0, again.stderr
    assert state_of(url).moved == tuple(others)
    assert episode in state_of(url).staying


@pytest.mark.neo4j
def test_the_default_group_of_graphiti_needs_a_name_and_the_documentation_gives_it_one(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2], group="")
    planned = turnetl(tmp_path, neo4j_url, "migrate", "plan", SAMPLES)
    assert "group `` cannot be migrated" in " ".join(planned.messages)
    documented = (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
    statements = re.findall(r"^MATCH .*(?=;$)", documented, re.MULTILINE)
    assert len(statements) == 2
    asyncio.run(run_statements(neo4j_url, *statements))
    assert migrated(tmp_path, neo4j_url)["group"] == "summaries"
