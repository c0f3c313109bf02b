"""What stops a command of a migration: rights, other writers, other archives; many questions."""

import asyncio
import csv
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import SAMPLES, turnetl_process
from tests.cli.test_read_only_index import run_unprivileged
from tests.graph.committing import opened
from tests.legacy.graphs import write_legacy_graph
from tests.legacy.migrating import GROUP, Migrations, dumped, fill, turnetl
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode
from turnetl.base.clock import now
from turnetl.base.ids import turns_group
from turnetl.graph.open import open_graph
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.moves import MigrationCommand
from turnetl.settings import load_settings

AMBIGUOUS = 1_500
linux = pytest.mark.skipif(sys.platform != "linux", reason="root may write everything elsewhere")


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(SAMPLES))[:2]


@pytest.mark.full
@linux
def test_a_graph_that_may_not_be_written_is_a_sentence_and_stays(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    url = f"ladybug://{folder / 'graph.lbug'}"
    migrations.ready(folder, url, sessions)
    (folder / ".turnetl").rename(tmp_path / ".turnetl")
    before = dumped(url)
    paths = [folder, *folder.iterdir()]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    commands = (("run", str(SAMPLES)), ("cutover", "--accept", "--yes", "--group", GROUP))
    results = [run_unprivileged(tmp_path, "migrate", *one, "--graph", url) for one in commands]
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)
    for refused in results:
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False), refused.stderr
        assert "unexpected" not in refused.stderr
        assert str(folder / "graph.lbug") in refused.stderr
    assert dumped(url) == before


@pytest.mark.full
@linux
def test_a_lake_that_may_not_be_written_is_a_sentence_and_the_graph_has_no_turn(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions)
    before = dumped(url)
    lake = tmp_path / "lake"
    lake.mkdir(mode=0o555)
    refused = run_unprivileged(
        tmp_path, "migrate", "run", str(SAMPLES), "--graph", url, "--lake", str(lake)
    )
    lake.chmod(0o755)
    assert (refused.returncode, "Traceback" in refused.stderr) == (1, False), refused.stderr
    assert str(lake) in refused.stderr
    assert "unexpected" not in refused.stderr
    assert dumped(url) == before


@pytest.mark.full
def test_another_process_that_writes_an_embedded_graph_is_named(
    tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    migrations.ready(tmp_path, url, sessions)

    async def refused_meanwhile() -> tuple[int, str]:
        store = await open_graph(url, user="", password="", write=True)
        options = ("cutover", "--accept", "--yes", "--graph", url)
        result = await asyncio.to_thread(turnetl_process, "migrate", *options, folder=tmp_path)
        await store.close()
        return result.exit_code, result.stderr

    code, message = asyncio.run(refused_meanwhile())
    assert code == 1
    assert str(tmp_path / "graph.lbug") in message


@pytest.mark.full
def test_archives_of_other_sessions_begin_no_migration(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, sessions)
    before = dumped(url)
    rows = conversation("Paint the fence", session="fence-1", at=datetime(2026, 1, 1, tzinfo=UTC))
    other = write_archive(tmp_path / "other" / "a.jsonl", rows)
    for options in ((), ("--group", GROUP)):
        refused = turnetl(tmp_path, url, "migrate", "run", other, "--lake", "lake", *options)
        assert refused.exit_code in (1, 2)
        assert "has no episode of a session of these archives" in " ".join(refused.messages)
    assert dumped(url) == before
    assert not (tmp_path / "lake").exists()


@pytest.mark.full
def test_a_thousand_ambiguous_episodes_are_a_short_table_and_all_rows_of_a_file(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url, file = f"ladybug://{tmp_path / 'graph.lbug'}", tmp_path / "decisions.tsv"
    one, other = sessions
    at = datetime(2026, 9, 1, tzinfo=UTC)
    names = f"sessions {one.session_id} and {other.session_id}"
    episodes = [
        LegacyEpisode(f"e-{number}", names, "Ok.", "text", "summary", at)
        for number in range(AMBIGUOUS)
    ]
    asyncio.run(write_legacy_graph(url, episodes, GROUP))
    result = turnetl(tmp_path, url, "migrate", "plan", SAMPLES, "--write", file)
    assert len(result.stdout.splitlines()) < 80
    assert len(result.stderr.splitlines()) < 20
    assert "1,500 episodes ambiguous" in " ".join(result.stderr.split())
    with file.open(newline="", encoding="utf-8") as written:
        rows = list(csv.DictReader(written, delimiter="\t"))
    assert len(rows) == AMBIGUOUS
    assert {row["session"] for row in rows} == {""}


def test_a_refused_change_makes_no_group_one_of_turnetl(
    graph_url: str, tmp_path: Path, migrations: Migrations, sessions: tuple[LegacySession, ...]
) -> None:
    migrations.ready(tmp_path, graph_url, sessions)
    settings = load_settings(None, graph=graph_url, lake=tmp_path / "lake")
    before = asyncio.run(groups_of(graph_url))
    for command in MigrationCommand:
        report = asyncio.run(execute_change(settings, ChangeOptions(command), now))
        assert report.is_refused, command
        assert asyncio.run(groups_of(graph_url)) == before == [turns_group(GROUP)], command


async def groups_of(url: str) -> list[str]:
    """Return the groups that have a TurnGroup."""
    async with opened(url) as store:
        return sorted(await store.versions())


def test_a_finish_accepts_no_more_days_than_a_date_has(tmp_path: Path) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    refused = turnetl(tmp_path, url, "migrate", "finish", "--keep-days", "1e12")
    assert (refused.exit_code, "keep-days" in refused.messages[0]) == (2, True)
