"""From archives to the graph: no secret is written, logged, sent or displayed."""

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ladybug
import polars as pl
import pytest

from tests.cli import command
from tests.redact.secret_archives import ARCHIVES, SecretSource
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import KEY, FakeProvider


class CompleteFormatter(logging.Formatter):
    """Formats a record with every field that a handler can write."""

    def format(self, record: logging.LogRecord) -> str:
        fields = repr(record.__dict__)
        return f"{record.levelname} {record.name}: {super().format(record)}{fields}"


@pytest.fixture
def source(tmp_path: Path) -> SecretSource:
    """The source of the secrets in the archives of `tmp_path / "archives"`."""
    folder = tmp_path / "archives"
    folder.mkdir()
    source = SecretSource()
    for name, archive in ARCHIVES.items():
        (folder / name).write_text(archive(source), encoding="utf-8")
    unknown = [{"note": source.text(), source.token(): 1}, {"odd": source.text()}]
    (folder / "unknown.jsonl").write_text("\n".join(map(json.dumps, unknown)))
    (folder / "torn.json").write_text('{"messages": [{"role": "user", "content": ' + source.text())
    named: dict[str, Any] = {
        "type": "user",
        "sessionId": "s9",
        "uuid": "u",
        "timestamp": "2026-03-02T09:00:00Z",
    }
    named |= {"cwd": f"/home/dev/{source.token()}", "message": {"role": "user", "content": "Hello"}}
    (folder / "named.jsonl").write_text(json.dumps(named))
    return source


@pytest.mark.full
def test_no_secret_is_written_logged_or_displayed(source: SecretSource, tmp_path: Path) -> None:
    texts = [*run(tmp_path, f"ladybug://{tmp_path / 'graph.lbug'}")]
    texts += written(tmp_path / ".turnetl") + written(tmp_path, "graph.lbug*")
    texts += dumped(tmp_path / "graph.lbug")
    assert "[REDACTED:" in texts[-1]
    assert_none(source.secrets, texts)


@pytest.mark.neo4j
def test_no_secret_is_in_neo4j(source: SecretSource, tmp_path: Path, neo4j: Neo4jServer) -> None:
    texts = [*run(tmp_path, neo4j.url)]
    graph = [*properties(neo4j)]
    assert any("[REDACTED:" in text for text in graph)
    assert_none(source.secrets, texts + graph)


def test_no_secret_is_sent_to_a_model(
    source: SecretSource, provider: FakeProvider, tmp_path: Path
) -> None:
    model = {
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": f"{provider.url}/v1",
        "TURNETL_LLM__MODEL": "canned",
        "TURNETL_LLM__API_KEY": KEY,
    }
    archive = tmp_path / "archives" / "claude.jsonl"
    ran = command.run_in_process("backfill", archive, "--limit", "3", folder=tmp_path, **model)
    bodies = [json.dumps(request.body, ensure_ascii=False) for request in provider.requests]
    assert ran.exit_code == 0
    assert any("[REDACTED:" in body for body in bodies)
    assert_none(
        source.secrets,
        [*bodies, *(text for request in provider.requests for _, text in request.messages)],
    )


def run(folder: Path, graph: str) -> Iterator[str]:
    """Run the backfill and the commands that report on it; yield all output, and the log."""
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
    log = (folder / "log.txt").read_text(encoding="utf-8")
    assert "DEBUG turnetl." in log
    yield log


def logged(*arguments: str, folder: Path) -> command.CommandResult:
    """Run the command, and write every log record to `log.txt`."""
    handler = logging.FileHandler(folder / "log.txt", encoding="utf-8")
    handler.setFormatter(CompleteFormatter())
    root, driver = logging.getLogger(), logging.getLogger("neo4j")
    levels = (root.level, driver.level)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    driver.setLevel(logging.NOTSET)
    try:
        # Without `-v`, turnetl's own loggers drop what is below a warning.
        return command.run_in_process(*arguments, "-v", folder=folder)
    finally:
        for logger, level in zip((root, driver), levels, strict=True):
            logger.setLevel(level)
        root.removeHandler(handler)
        handler.close()


def written(folder: Path, pattern: str = "*") -> list[str]:
    """Return the names and bytes of all files, and the rows of tables."""
    texts = []
    for path in sorted(path for path in folder.rglob(pattern) if path.is_file()):
        data = path.read_bytes()
        texts += [str(path), data.decode("latin-1"), data.decode("utf-8", "replace")]
        if path.suffix == ".parquet":
            texts += [
                as_text(pl.read_parquet(path).to_dicts()),
                as_text(pl.read_parquet_metadata(path)),
            ]
    assert texts
    return texts


def dumped(path: Path) -> list[str]:
    """Return all nodes and edges of an embedded graph."""
    connection = ladybug.Connection(ladybug.Database(str(path), read_only=True))
    rows = []
    for query in ("MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r"):
        result = connection.execute(query)
        assert not isinstance(result, list)
        while result.has_next():
            rows.append(as_text(result.get_next()))
    return ["\n".join(rows)]


def properties(server: Neo4jServer) -> Iterator[str]:
    """Yield the properties of all nodes and edges of a Neo4j."""
    with server.driver() as driver, driver.session() as session:
        for query in ("MATCH (n) RETURN properties(n)", "MATCH ()-[r]->() RETURN properties(r)"):
            yield from (as_text(row.values()) for row in session.run(query))


def as_text(value: Any) -> str:
    """Return the value completely, with real newlines: an escaped one ends in a letter."""
    return repr(value).replace(r"\n", "\n")


def assert_none(secrets: list[str], texts: Sequence[str]) -> None:
    """Search all texts for all secrets in one pass: there are thousands of secrets."""
    joined = pl.Series(["\n".join(texts)])
    leaked = joined.str.extract_many(secrets).explode().drop_nulls().unique().to_list()
    assert leaked == [], f"{len(leaked)} of {len(secrets)}"
