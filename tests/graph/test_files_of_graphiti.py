"""An embedded graph that turnetl never wrote is read as it is, and is not changed by reading."""

import ast
import asyncio
import tempfile
from pathlib import Path

import graphiti_core
import ladybug
import pytest

from tests.cli.command import SAMPLES, run_in_process
from tests.legacy.graphs import write_legacy_graph
from tests.legacy.sessions import legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph

GROUP = GroupId("old-summaries")


def graphiti_schema() -> str:
    """Return the tables of Graphiti's own driver, whose module needs a package of its own."""
    source = Path(graphiti_core.__file__).parent / "driver" / "kuzu_driver.py"
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SCHEMA_QUERIES":
            return str(ast.literal_eval(node.value))
    raise LookupError(f"`{source}` has no SCHEMA_QUERIES")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with Graphiti's tables and a summary of each sample session."""
    path, temporary = tmp_path / "graph.lbug", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        connection.execute(graphiti_schema())
    episodes = [legacy_episode(one, LegacyStyle.NAME) for one in legacy_sessions(SAMPLES)]
    asyncio.run(write_legacy_graph(f"ladybug://{path}", episodes, GROUP, prepare=False))
    return path


@pytest.mark.full
def test_its_episodes_are_read_and_the_file_stays_as_it_is(file: Path) -> None:
    before = file.read_bytes()

    async def read() -> None:
        store = await open_graph(f"ladybug://{file}", user="", password="", write=False)
        assert list(await store.episode_groups()) == [GROUP]
        episodes = await store.unrecorded_episodes(GROUP)
        assert len(episodes) == len(legacy_sessions(SAMPLES))
        assert all(episode.text and episode.valid_at for episode in episodes)
        assert (await store.counts(GROUP))[1] > 0
        assert list(await store.groups()) == []
        await store.close()

    asyncio.run(read())
    assert file.read_bytes() == before
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


@pytest.mark.full
def test_it_is_planned_and_migrated(file: Path, tmp_path: Path) -> None:
    arguments = (str(SAMPLES), "--graph", f"ladybug://{file}", "--json")
    planned = run_in_process("migrate", "plan", *arguments, folder=tmp_path)
    assert planned.exit_code == 0, planned.stderr
    sessions = len(legacy_sessions(SAMPLES))
    assert planned.json["groups"][0]["sessions"] == sessions
    run = run_in_process("migrate", "run", *arguments, folder=tmp_path)
    assert run.exit_code == 0, run.stderr
    assert run.json["ingest"]["committed"] == planned.json["estimate"]["turns"] > sessions
    again = run_in_process("migrate", "plan", *arguments, folder=tmp_path)
    assert again.json["groups"][0]["sessions"] == sessions


@pytest.mark.full
def test_tables_without_an_episode_are_an_empty_graph(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        connection.execute(graphiti_schema())
    result = run_in_process(
        "migrate", "plan", str(SAMPLES), "--graph", f"ladybug://{path}", folder=tmp_path
    )
    assert result.exit_code == 0, result.stderr
    assert "holds no session-level data" in result.stdout
