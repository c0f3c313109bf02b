"""From archives of all formats to lake, graph, output and log: no byte names a person."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchmarks.redaction.canaries import Canary
from benchmarks.redaction.personal import personal_canaries
from tests.redact.canaries import LOWER, fresh
from tests.redact.secret_archives import ARCHIVES, Json, SecretSource
from tests.redact.test_no_leaks import assert_none, dumped, logged, properties
from tests.redact.test_no_leaks import written as files
from tests.redact.test_no_leaks_in_lake import GROUP, written
from tests.servers.neo4j_server import Neo4jServer
from turnetl import episodes, parsing
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

RECOGNISED_ALONE = frozenset({"e-mail address", "IPv4", "IPv6", "MAC", "SSN", "CPF", "phone"})
"""Kinds that are recognised by themselves, whatever stands around them."""


@pytest.mark.full
@pytest.mark.parametrize("name", ARCHIVES)
def test_no_personal_data_reaches_the_lake(name: str, tmp_path: Path) -> None:
    canaries = [canary for canary in personal_canaries() if canary.kind in RECOGNISED_ALONE]
    source = SecretSource([partial(_entry, canary) for canary in canaries])
    path, lake = tmp_path / name, Lake(tmp_path / "lake")
    path.write_text(ARCHIVES[name](source), encoding="utf-8")
    redactor = SecretRedactor(pii=True)
    parsing.parse_archives([path], lake, redactor=redactor, grouping=parsing.Grouping(GROUP))
    episodes.build(lake, [GROUP])
    texts = written(tmp_path / "lake")
    assert "[REDACTED:email:" in texts
    assert [secret for secret in source.secrets if secret in texts] == []


@pytest.fixture
def person(tmp_path: Path) -> str:
    """The account whose name is in the path of an archive, its folders, branch and texts."""
    name = "k" + fresh(9, LOWER)
    rows = claude_rows(name)
    folder = tmp_path / "archives" / name
    folder.mkdir(parents=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "session.jsonl").write_text(text, encoding="utf-8")
    return name


def claude_rows(name: str) -> Iterator[Json]:
    texts = (f"Mend /home/{name}/shop/cart.py, write to {name}@shop.io", f"Done in ~{name}/shop.")
    for number, (role, text) in enumerate(zip(("user", "assistant"), texts, strict=True)):
        message = {"role": role, "content": text, "id": "m1", "model": "claude-opus-4"}
        row = {"type": role, "message": message, "sessionId": "s1", "uuid": f"u{number}"}
        time = {"timestamp": f"2026-03-02T09:00:0{number}.000Z", "version": "2.1.12"}
        yield row | time | {"cwd": f"/home/{name}/shop", "gitBranch": f"{name}/cart"}


def test_no_person_is_stored_or_displayed(person: str, tmp_path: Path) -> None:
    texts = [*run(tmp_path, f"ladybug://{tmp_path / 'graph.lbug'}")]
    texts += files(tmp_path / ".turnetl") + files(tmp_path, "graph.lbug*")
    texts += dumped(tmp_path / "graph.lbug")
    assert "[REDACTED:" in texts[-1]
    assert_none([person], texts)


@pytest.mark.neo4j
def test_no_person_is_in_neo4j(person: str, tmp_path: Path, neo4j: Neo4jServer) -> None:
    assert_none([person], [*run(tmp_path, neo4j.url), *properties(neo4j)])


def run(folder: Path, graph: str) -> Iterator[str]:
    """Run the backfill and commands that name the archive; yield all output, and the log."""
    ran = logged("backfill", "archives", "--redact-pii", "--graph", graph, "--json", folder=folder)
    assert (ran.exit_code, ran.json["committed"]) == (0, 1)
    yield ran.stdout + ran.stderr
    for command in (("search", "cart"), ("status",), ("timeline",), ("verify",), ("runs",)):
        for options in ((), ("--json",)):
            ran = logged(*command, "--graph", graph, *options, folder=folder)
            assert ran.exit_code == 0, ran
            yield ran.stdout + ran.stderr
    yield (folder / "log.txt").read_text(encoding="utf-8")


def _entry(canary: Canary) -> tuple[str, str]:
    return canary.secret, canary.text
