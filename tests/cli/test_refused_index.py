"""An index that is busy, of another version or embedder, damaged, or of a graph that is down."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import index_folder, run_in_process
from tests.cli.provider_setup import SESSION_START

OTHER_EMBEDDER = "UPDATE settings SET value = 'other' WHERE name = 'embedder'"
DOWN = ("--graph", "bolt://neo4j:x@127.0.0.1:9")


def execute(shop: Path, statement: str) -> None:
    """Change the catalog of the index."""
    with closing(sqlite3.connect(index_folder(shop) / "catalog.sqlite")) as catalog, catalog:
        catalog.execute(statement)


def test_a_server_that_is_down_is_an_error_and_leaves_no_index(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for command in (
        ("search", "cart"),
        ("timeline",),
        ("fix", "KeyError"),
        ("show", "abc"),
        ("entity", "cart"),
        ("index",),
    ):
        with subtests.test(command=command):
            result = run_in_process(*command, *DOWN, folder=tmp_path)
            assert (result.exit_code, result.stdout) == (1, "")
            assert len(result.messages) == 1
            assert "does not respond; check that it is running" in result.messages[0]
            assert not (tmp_path / ".turnetl").exists()


def test_a_rebuild_of_a_graph_that_cannot_be_opened_keeps_the_index(shop: Path) -> None:
    (shop / ".turnetl" / "lake" / "graph.lbug").write_bytes(b"no graph" * 1000)
    before = (index_folder(shop) / "catalog.sqlite").read_bytes()
    assert run_in_process("index", "--rebuild", folder=shop).exit_code == 1
    assert (index_folder(shop) / "catalog.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("PRAGMA user_version = 99", "has version 99, and this turnetl supports version"),
        (OTHER_EMBEDDER, "was made with the embedder `other`"),
    ],
)
def test_status_and_a_run_say_that_an_index_is_refused_and_how_to_repair_it(
    statement: str, reason: str, shop: Path
) -> None:
    execute(shop, statement)
    refusal = run_in_process("search", "cart", folder=shop).messages
    status = run_in_process("status", folder=shop)
    assert (status.exit_code, status.messages) == (0, [])
    assert "search index: " not in status.stdout
    problem = run_in_process("status", "--json", folder=shop).json["index_problem"]
    assert reason in problem
    assert "run `turnetl index --rebuild`" in problem
    assert [f"turnetl: {problem}"] == refusal
    assert " ".join(problem.split()) in " ".join(status.stdout.split())
    rows = conversation("Refund the order", session="s2", at=SESSION_START)
    result = run_in_process("backfill", write_archive(shop / "b.jsonl", rows), folder=shop)
    assert result.exit_code == 0
    (warning,) = [message for message in result.messages if "search index" in message]
    assert "the search index was not updated: " in warning
    assert reason in warning
    assert "run `turnetl index --rebuild`" in warning
    assert "next search" not in warning


@pytest.mark.full
@pytest.mark.parametrize("name", ["catalog.sqlite", "vectors/keys", "lexical/turns/meta.json"])
def test_status_says_that_an_index_is_damaged_and_that_a_search_rebuilds_it(
    name: str, shop: Path
) -> None:
    (index_folder(shop) / name).write_bytes(b"garbage" * 1000)
    for _ in range(2):
        status = run_in_process("status", "--json", folder=shop)
        assert (status.exit_code, status.messages) == (0, [])
        assert "is damaged (" in status.json["index_problem"]
        assert status.json["index_problem"].endswith("); the next search rebuilds it")
    run_in_process("search", "cart", folder=shop)
    assert run_in_process("status", "--json", folder=shop).json["index_problem"] is None
