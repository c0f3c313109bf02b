"""`turnetl migrate compare`: old data beside the turns that a migration ingested."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.graph.graph_dump import dump_graph
from tests.legacy.graphs import DIMENSIONS, write_foreign_data, write_legacy_graph
from tests.legacy.migrating import Migrations
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode
from turnetl.base.ids import turns_group
from turnetl.base.model import GroupId
from turnetl.graph.migrations import TurnMigration
from turnetl.graph.open import open_graph
from turnetl.migration.comparison import cutover_refusal, recorded_verdict, state_digest

GROUP = GroupId("old-summaries")
ARCHIVES = SAMPLES / "bookshop"


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(ARCHIVES))


def fill(url: str, episodes: Sequence[LegacyEpisode], dimensions: int = DIMENSIONS) -> None:
    async def write() -> None:
        await write_legacy_graph(url, episodes, GROUP, dimensions=dimensions)
        await write_foreign_data(url, GROUP, dimensions=dimensions)

    asyncio.run(write())


def summaries(sessions: Sequence[LegacySession]) -> list[LegacyEpisode]:
    return [legacy_episode(one, LegacyStyle.NAME) for one in sessions]


def turnetl(folder: Path, graph: str, *arguments: str | Path) -> CommandResult:
    return run_in_process(*map(str, arguments), "--graph", graph, folder=folder)


def refusal(url: str) -> tuple[TurnMigration, str | None]:
    """Return the recorded state, and what a cutover would say about it."""

    async def read() -> tuple[TurnMigration, str | None]:
        store = await open_graph(url, user="", password="", write=False)
        [migration] = await store.migrations()
        old = await store.session_level(GROUP, vectors=False)
        digest = state_digest(old, await store.receipts(turns_group(GROUP)))
        await store.close()
        return migration, cutover_refusal(migration, digest)

    return asyncio.run(read())


@pytest.mark.full
def test_sessions_facts_and_probes_of_both_sides_are_compared_and_judged(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions)
    before = asyncio.run(dump_graph(graph_url))
    result = turnetl(tmp_path, graph_url, "migrate", "compare", "--json", "--html", "page.html")
    assert result.exit_code in (0, 3), result.stderr
    [group] = result.json["groups"]
    assert group["group"] == GROUP
    assert [one["session_id"] for one in group["sessions"]] == [
        one.session_id for one in sorted(sessions, key=lambda one: one.started_at)
    ]
    assert group["old"]["episodes"] == len(sessions)
    assert group["old"]["facts"] == sum(one["old"]["facts"] for one in group["sessions"])
    assert group["new"]["episodes"] == sum(one["new"]["episodes"] for one in group["sessions"])
    assert group["lost_facts"] == sum(len(one["lost_facts"]) for one in group["sessions"])
    assert 0 < len(group["probes"]) <= group["old"]["facts"]
    assert group["old_hit_rate"] == 1
    assert group["passed"] is (result.exit_code == 0)
    changed = {line for line in asyncio.run(dump_graph(graph_url)) if line not in before}
    assert all("TurnMigration" in line for line in changed)
    migration, refused = refusal(graph_url)
    verdict = recorded_verdict(migration)
    assert verdict is not None
    assert list(verdict.reasons) == group["reasons"]
    assert (refused is None) is group["passed"]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(one.session_id in page for one in sessions)
    assert_same_after_cutover(tmp_path, graph_url, group)


def assert_same_after_cutover(folder: Path, url: str, before: dict[str, Any]) -> None:
    """The same data are compared, and nothing is written; after the end there is nothing left."""
    assert turnetl(folder, url, "migrate", "cutover", "--accept", "--yes").exit_code == 0
    graph = asyncio.run(dump_graph(url))
    result = turnetl(folder, url, "migrate", "compare", "--json")
    assert result.exit_code in (0, 3), result.stderr
    assert result.json["groups"] == [before]
    assert asyncio.run(dump_graph(url)) == graph
    assert turnetl(folder, url, "migrate", "finish", "--yes").exit_code == 0
    finished = turnetl(folder, url, "migrate", "compare")
    assert finished.exit_code == 2
    assert "turnetl migrate run ARCHIVES" in finished.stderr


@pytest.mark.full
def test_old_data_without_facts_lose_none_and_have_no_probes(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, [replace(one, files=()) for one in summaries(sessions)])
    assert turnetl(tmp_path, url, "migrate", "run", ARCHIVES).exit_code == 0
    result = turnetl(tmp_path, url, "migrate", "compare", "--json")
    assert result.exit_code == 0, result.stderr
    [group] = result.json["groups"]
    assert (group["old"]["episodes"], group["old"]["facts"]) == (len(sessions), 0)
    assert (group["lost_facts"], group["expressed"], group["passed"]) == (0, 1, True)
    assert (group["probes"], group["old_hit_rate"], group["new_hit_rate"]) == ([], None, None)
    assert group["new"]["facts"] == group["new_dates"]["facts"] > 0
    assert refusal(url)[1] is None
    assert turnetl(tmp_path, url, "migrate", "compare").exit_code == 0


@pytest.mark.full
def test_thresholds_are_settings_and_a_verdict_counts_for_its_state_only(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    migrations.ready(tmp_path, url, sessions[:1])
    lenient = {"TURNETL_MIGRATION__MIN_EXPRESSED": "0", "TURNETL_MIGRATION__MIN_PROBE_HITS": "0"}
    words = ("migrate", "compare", "--graph", url)
    passed = run_in_process(*words, folder=tmp_path, **lenient)
    assert passed.exit_code == 0, passed.stderr
    assert refusal(url)[1] is None
    strict = {"TURNETL_MIGRATION__FACT_SIMILARITY": "1", "TURNETL_MIGRATION__MIN_EXPRESSED": "1"}
    refused = run_in_process(*words, folder=tmp_path, **strict)
    assert refused.exit_code == 3
    assert "migration.min_expressed" in " ".join(refused.messages)
    assert "--accept" in " ".join(refused.messages)
    run_in_process(*words, folder=tmp_path, **lenient)
    other = LegacyEpisode("later", "note", "Later", "text", "x", sessions[0].ended_at)
    asyncio.run(write_legacy_graph(url, [other], GROUP))
    message = refusal(url)[1]
    assert message is not None
    assert "changed since they were compared" in message


@pytest.mark.full
def test_a_run_keeps_the_verdict_and_new_turns_make_it_count_no_longer(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, summaries(sessions))
    part = turnetl(tmp_path, url, "migrate", "run", ARCHIVES, "--limit", "2")
    assert part.exit_code == 0, part.stderr
    compared = turnetl(tmp_path, url, "migrate", "compare", "--json")
    assert compared.exit_code == 3
    assert "turns are missing" in compared.json["groups"][0]["reasons"][0]
    turnetl(tmp_path, url, "migrate", "run", ARCHIVES)
    message = refusal(url)[1]
    assert message is not None
    assert "changed since" in message or "were not compared" in message


@pytest.mark.full
def test_questions_of_a_file_are_asked_instead_of_old_facts(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    migrations.ready(tmp_path, url, sessions)
    wanted = min(sessions, key=lambda one: one.started_at).session_id
    lines = ["question\tsession", f"integer cents\t{wanted}", f"discount code\t{wanted}"]
    (tmp_path / "questions.tsv").write_text("\n".join(lines), encoding="utf-8")
    command = ("migrate", "compare", "--questions", "questions.tsv")
    [group] = turnetl(tmp_path, url, *command, "--json").json["groups"]
    assert group["are_probes_generated"] is False
    assert [one["question"] for one in group["probes"]] == ["integer cents", "discount code"]
    assert all(one["new_rank"] for one in group["probes"])
    printed = run_in_process(*command, "--graph", url, folder=tmp_path, COLUMNS="80").stdout
    assert max(map(len, printed.splitlines())) <= 80
    assert "session level" in printed
    (tmp_path / "questions.tsv").write_text("question\tsession\nwhy\tother", encoding="utf-8")
    refused = turnetl(tmp_path, url, *command)
    assert refused.exit_code == 2
    assert "no migration has the session `other`" in refused.stderr


@pytest.mark.full
def test_without_a_migration_the_command_names_the_one_that_begins_it(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, summaries(sessions[:1]))
    result = turnetl(tmp_path, url, "migrate", "compare")
    assert result.exit_code == 2
    assert "turnetl migrate run ARCHIVES" in result.stderr
    assert turnetl(tmp_path, url, "migrate", "compare", "--html", "no/page").exit_code == 2


@pytest.mark.full
def test_an_unknown_group_is_refused(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    migrations.ready(tmp_path, url, sessions[:1])
    result = turnetl(tmp_path, url, "migrate", "compare", "--group", "other")
    assert result.exit_code == 2
    assert "other" in result.stderr


@pytest.mark.full
def test_hostile_texts_of_old_data_reach_neither_terminal_nor_page_as_markup(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    named = legacy_episode(sessions[0], LegacyStyle.NAME)
    hostile = ("<script>a\x1b[31m</script>", "[bold]b[/bold]", "c\u202ed")
    fill(
        url, [LegacyEpisode(named.uuid, named.name, "x", "text", "", named.reference_time, hostile)]
    )
    assert turnetl(tmp_path, url, "migrate", "run", ARCHIVES).exit_code == 0
    result = turnetl(tmp_path, url, "migrate", "compare", "--html", "page.html")
    assert result.exit_code == 0
    assert "\x1b[31m" not in result.stdout + result.stderr
    assert "[bold]b" in " ".join(result.stdout.split())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not {"\x1b", "\u202e"} & {*page}


@pytest.mark.full
def test_old_embeddings_are_not_compared_so_that_their_dimensions_do_not_matter(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    reports = []
    for name, dimensions in (("one", DIMENSIONS), ("other", 3)):
        url = f"ladybug://{tmp_path / name}.lbug"
        migrations.ready(tmp_path, url, sessions[:1])
        asyncio.run(
            write_legacy_graph(
                url,
                [legacy_episode(sessions[0], LegacyStyle.NOWHERE)],
                "elsewhere",
                dimensions=dimensions,
            )
        )
        report = turnetl(tmp_path, url, "migrate", "compare", "--json").json["groups"][0]
        del report["migration_id"]
        reports.append(report)
    assert reports[0] == reports[1]
