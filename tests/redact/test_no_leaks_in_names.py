"""A folder, a file, an id or a name may be a secret, too: none of them is stored or displayed."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.cli import command
from tests.cli.archives import conversation, write_archive
from tests.cli.provider_setup import SESSION_START, model_environment
from tests.redact.named_archives import ARCHIVES, TURNS, SecretNames
from tests.redact.test_no_leaks import assert_none, dumped, logged, properties, written
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider

ASSUME = ("--assume-time", "2026-03-01T00:00:00Z")


@pytest.fixture
def names(tmp_path: Path) -> SecretNames:
    """The secrets in the names of archives, of folders and of what is in `tmp_path / "archives"`.

    Each archive has a folder of its own. Some archives cannot be read.
    """
    names = SecretNames()
    for name, archive in ARCHIVES.items():
        folder = tmp_path / "archives" / names.name() / names.name()
        folder.mkdir(parents=True)
        (folder / f"{names.name()}-{name}").write_text(archive(names), encoding="utf-8")
    for content in ("", "not an archive\n", '{"messages": [{"role": "user", "content": "x'):
        (tmp_path / "archives" / f"{names.name()}.jsonl").write_text(content)
    torn = conversation("add a cart", at=SESSION_START)
    write_archive(tmp_path / "archives" / f"{names.name()}.jsonl", [*torn, '{"type": "user", '])
    (tmp_path / "archives" / f"{names.name()}.json").symlink_to("nowhere")
    return names


@pytest.mark.full
def test_no_secret_name_is_stored_or_displayed(names: SecretNames, tmp_path: Path) -> None:
    texts = [*run(tmp_path, f"ladybug://{tmp_path / 'graph.lbug'}")]
    texts += written(tmp_path / ".turnetl") + written(tmp_path, "graph.lbug*")
    texts += dumped(tmp_path / "graph.lbug")
    assert texts[-1].count("[REDACTED:") > len(ARCHIVES) * TURNS
    assert_none(names.secrets, texts)


@pytest.mark.neo4j
def test_no_secret_name_is_in_neo4j(names: SecretNames, tmp_path: Path, neo4j: Neo4jServer) -> None:
    texts = [*run(tmp_path, neo4j.url), *properties(neo4j)]
    assert_none(names.secrets, texts)


def test_no_secret_name_is_sent_to_a_model_or_quarantined(
    names: SecretNames, provider: FakeProvider, tmp_path: Path
) -> None:
    environment = model_environment(provider)
    ran = command.run_in_process(
        "backfill", "archives", *ASSUME, "--json", folder=tmp_path, **environment
    )
    assert (ran.exit_code, ran.json["committed"]) == (0, len(ARCHIVES) * TURNS + 1)
    provider.responses.clear()
    bodies = [json.dumps(request.body, ensure_ascii=False) for request in provider.requests]
    assert bodies
    assert_none(names.secrets, [*bodies, ran.stdout, ran.stderr, *written(tmp_path / ".turnetl")])


def run(folder: Path, graph: str) -> Iterator[str]:
    """Run the backfill and the commands that report on it; yield all output, and the log."""
    archives = ("archives", *ASSUME, "--graph", graph)
    ran = logged("backfill", *archives, "--json", folder=folder)
    assert ran.json["committed"] == len(ARCHIVES) * TURNS + 1
    yield from (ran.stdout, ran.stderr)
    found = logged("search", "cart", "--graph", graph, "--json", folder=folder)
    turns = [hit["turn_id"] for hit in found.json["hits"]][:3]
    assert turns
    reports = [("status",), ("runs",), ("verify",), ("search", "cart")]
    opened = [(*show, turn) for turn in turns for show in (("show",), ("show", "--raw"))]
    reports += [("timeline",), ("timeline", "--session", found.json["hits"][0]["session_id"])]
    for arguments in chain(reports, opened):
        for options in ((), ("--json",)):
            ran = logged(*arguments, "--graph", graph, *options, folder=folder)
            assert ran.exit_code == 0, ran
            yield from (ran.stdout, ran.stderr)
    for arguments in (
        ("backfill", *archives),
        ("parse", "archives", "--json"),
        ("parse", "archives", "--dry-run"),
        ("filter", "--json"),
        ("rules", "--json"),
        ("retry", "--graph", graph, "--json"),
        ("index", "--graph", graph, "--json"),
    ):
        ran = logged(*arguments, folder=folder)
        yield from (ran.stdout, ran.stderr)
    log = (folder / "log.txt").read_text(encoding="utf-8")
    assert "DEBUG turnetl." in log
    yield log
