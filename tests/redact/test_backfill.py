"""From archives to the graph: no secret is in anything that is written, logged, sent or shown."""

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ladybug
import polars as pl
import pytest

from tests.cli import command
from tests.redact.places import ARCHIVES, Planter
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import KEY, FakeProvider


class EveryField(logging.Formatter):
    """Formats a record with all that its handlers could write."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record) + repr(record.__dict__)


@pytest.fixture
def planter(tmp_path: Path) -> Planter:
    """What is in the archives of `tmp_path / "archives"`."""
    folder = tmp_path / "archives"
    folder.mkdir()
    planter = Planter()
    for name, made in ARCHIVES.items():
        (folder / name).write_text(made(planter), encoding="utf-8")
    unknown = [{"note": planter.words(), planter.line(): 1}, {"odd": planter.words()}]
    (folder / "unknown.jsonl").write_text("\n".join(map(json.dumps, unknown)))
    (folder / "torn.json").write_text(
        '{"messages": [{"role": "user", "content": ' + planter.words()
    )
    named: dict[str, Any] = {
        "type": "user",
        "sessionId": "s9",
        "uuid": "u",
        "timestamp": "2026-03-02T09:00:00Z",
    }
    named |= {"cwd": f"/home/dev/{planter.line()}", "message": {"role": "user", "content": "Hello"}}
    (folder / "named.jsonl").write_text(json.dumps(named))
    return planter


def test_no_secret_is_in_what_is_written_logged_or_shown(planter: Planter, tmp_path: Path) -> None:
    found = [*run(tmp_path, f"ladybug://{tmp_path / 'graph.lbug'}")]
    found += written(tmp_path / "data") + written(tmp_path, "graph.lbug*")
    found += dumped(tmp_path / "graph.lbug")
    assert "[REDACTED:" in found[-1]
    assert_none(planter.secrets, found)


@pytest.mark.neo4j
def test_no_secret_is_in_neo4j(planter: Planter, tmp_path: Path, neo4j: Neo4jServer) -> None:
    said = [*run(tmp_path, neo4j.url)]
    graph = [*properties(neo4j)]
    assert any("[REDACTED:" in text for text in graph)
    assert_none(planter.secrets, said + graph)


def test_no_secret_is_sent_to_a_model(
    planter: Planter, provider: FakeProvider, tmp_path: Path
) -> None:
    model = {
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": f"{provider.url}/v1",
        "TURNETL_LLM__MODEL": "canned",
        "TURNETL_LLM__API_KEY": KEY,
    }
    archive = tmp_path / "archives" / "claude.jsonl"
    ran = command.run_in_process("backfill", archive, "--limit", "3", folder=tmp_path, **model)
    asked = [json.dumps(one.body, ensure_ascii=False) for one in provider.requests]
    assert ran.exit_code == 0
    assert any("[REDACTED:" in body for body in asked)
    assert_none(
        planter.secrets, [*asked, *(text for one in provider.requests for _, text in one.messages)]
    )


def run(folder: Path, graph: str) -> Iterator[str]:
    """Run the main job and what tells of it; yield all that was said, and the log."""
    archives = ("archives", "--assume-time", "2026-03-01T00:00:00Z", "--graph", graph)
    ran = logged("backfill", *archives, "--json", folder=folder)
    assert ran.json["committed"] > len(ARCHIVES) * 8
    yield from (ran.stdout, ran.stderr)
    for arguments in (
        ("backfill", *archives),
        ("parse", "archives", "--dry-run", "--json"),
        ("filter", "--json"),
        ("status", "--graph", graph),
        ("search", "what is the token", "--graph", graph, "--json"),
    ):
        ran = logged(*arguments, folder=folder)
        yield from (ran.stdout, ran.stderr)
    yield (folder / "log.txt").read_text(encoding="utf-8")


def logged(*arguments: str, folder: Path) -> command.CommandResult:
    """Run the command, with all that it logs written to `log.txt`."""
    handler = logging.FileHandler(folder / "log.txt", encoding="utf-8")
    handler.setFormatter(EveryField())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        return command.run_in_process(*arguments, folder=folder)
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()


def written(folder: Path, pattern: str = "*") -> list[str]:
    """Return the names and bytes of all files, and the rows of tables."""
    said = []
    for path in sorted(path for path in folder.rglob(pattern) if path.is_file()):
        data = path.read_bytes()
        said += [str(path), data.decode("latin-1"), data.decode("utf-8", "replace")]
        if path.suffix == ".parquet":
            said += [shown(pl.read_parquet(path).to_dicts()), shown(pl.read_parquet_metadata(path))]
    assert said
    return said


def dumped(path: Path) -> list[str]:
    """Return all nodes and edges of an embedded graph."""
    connection = ladybug.Connection(ladybug.Database(str(path), read_only=True))
    found = []
    for query in ("MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r"):
        answer = connection.execute(query)
        assert not isinstance(answer, list)
        while answer.has_next():
            found.append(shown(answer.get_next()))
    return ["\n".join(found)]


def properties(server: Neo4jServer) -> Iterator[str]:
    """Yield all that the nodes and edges of a Neo4j say."""
    with server.driver() as driver, driver.session() as session:
        for query in ("MATCH (n) RETURN properties(n)", "MATCH ()-[r]->() RETURN properties(r)"):
            yield from (shown(row.values()) for row in session.run(query))


def shown(value: Any) -> str:
    """Return it in full; line breaks as such, as their letter would look like one of a secret."""
    return repr(value).replace(r"\n", "\n")


def assert_none(secrets: list[str], texts: Sequence[str]) -> None:
    """One pass over all texts for all secrets: they are thousands."""
    whole = pl.Series(["\n".join(texts)])
    places = whole.str.extract_many(secrets).explode().drop_nulls().unique().to_list()
    assert places == [], f"{len(places)} of {len(secrets)}"
