"""`turnetl verify`: what it prints, its exit code, and what `--fix` changes."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import index_folder, run_in_process
from tests.graph.graph_dump import dump_graph
from tests.graph.statements import run_statement

SECOND_MENTIONS = """
MATCH (e:Episodic)-[:MENTIONS]->(n:Entity)
WITH e, n LIMIT 1
CREATE (e)-[:MENTIONS {uuid: 'second', group_id: e.group_id}]->(n)
"""
COPY_TURN = """
INSERT INTO turns (turn_id, group_id, session_id, started_at, receipt, text, touched)
SELECT 'gone', group_id, session_id, started_at, receipt, text, touched FROM turns LIMIT 1
"""


def graph_of(folder: Path) -> str:
    [path] = folder.rglob("*.lbug")
    return f"ladybug://{path}"


def dumped(folder: Path) -> list[str]:
    return asyncio.run(dump_graph(graph_of(folder)))


def change_catalog(folder: Path, statement: str) -> None:
    with sqlite3.connect(index_folder(folder) / "catalog.sqlite") as connection:
        connection.execute(statement)
    connection.close()


def test_a_new_graph_is_sound(shop: Path) -> None:
    result = run_in_process("verify", folder=shop)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 turns" in result.stdout
    assert "nothing is wrong" in result.stdout
    output = run_in_process("verify", "--json", folder=shop).json
    assert [group["findings"] for group in output["groups"]] == [[]]
    assert (output["wrong"], output["repaired"], output["index_problem"]) == (0, 0, None)


@pytest.mark.full
def test_a_finding_is_shown_with_an_example_and_a_remedy_and_repaired(shop: Path) -> None:
    before = dumped(shop)
    asyncio.run(run_statement(graph_of(shop), SECOND_MENTIONS))
    planted = dumped(shop)
    result = run_in_process("verify", folder=shop)
    assert result.exit_code == 3
    assert "double_mentions 1: episode that mentions an entity twice" in result.stdout
    assert " 2 times" in result.stdout
    assert "--fix" in result.stdout
    refused = run_in_process("verify", "--fix", folder=shop)
    assert refused.exit_code == 1
    assert "keep one mention of entity" in refused.stdout
    assert refused.messages == [
        "turnetl: nothing was repaired: confirm it on a terminal, or add --yes"
    ]
    assert dumped(shop) == planted
    repaired = run_in_process("verify", "--fix", "--yes", "--json", folder=shop)
    assert (repaired.exit_code, repaired.json["repaired"], repaired.json["wrong"]) == (0, 1, 0)
    assert dumped(shop) == before


@pytest.mark.full
@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("UPDATE groups SET sequence = 99", "index_sequence"),
        (
            COPY_TURN,
            "index_surplus",
        ),
    ],
)
def test_an_index_that_holds_too_much_is_brought_up_to_date(
    shop: Path, statement: str, check: str
) -> None:
    change_catalog(shop, statement)
    result = run_in_process("verify", folder=shop)
    assert result.exit_code == 3
    assert f"{check} 1" in result.stdout
    assert run_in_process("verify", "--fix", "--yes", folder=shop).exit_code == 0


def test_a_turn_that_the_index_lost_is_found(shop: Path) -> None:
    change_catalog(shop, "DELETE FROM turns WHERE key = (SELECT min(key) FROM turns)")
    output = run_in_process("verify", "--json", folder=shop)
    [group] = output.json["groups"]
    assert [finding["check"] for finding in group["findings"]] == ["index_missing"]
    assert output.exit_code == 3
    assert run_in_process("index", "--rebuild", folder=shop).exit_code == 0
    assert run_in_process("verify", folder=shop).exit_code == 0


def test_only_selected_groups_are_verified(shop: Path) -> None:
    assert run_in_process("verify", "--group", "unknown", folder=shop).exit_code == 2
    [group] = run_in_process("verify", "--json", folder=shop).json["groups"]
    result = run_in_process("verify", "--group", group["group"], folder=shop)
    assert "1 group, 2 turns" in result.stdout


def test_without_a_graph_or_with_yes_alone_nothing_is_verified(tmp_path: Path) -> None:
    result = run_in_process("verify", folder=tmp_path)
    assert result.exit_code == 1
    assert "there is no graph" in result.stderr
    result = run_in_process("verify", "--yes", folder=tmp_path)
    assert (result.exit_code, result.messages) == (
        2,
        ["turnetl: `--yes` is an option of `--fix`: add it"],
    )


@pytest.mark.full
def test_a_vector_that_is_not_that_of_its_text_is_found_if_vectors_are_compared(
    shop: Path,
) -> None:
    assert run_in_process("verify", "--vectors", folder=shop).exit_code == 0
    renamed = "MATCH (n:Entity) WITH n LIMIT 1 SET n.name = 'an entity with another name'"
    asyncio.run(run_statement(graph_of(shop), renamed))
    assert run_in_process("verify", folder=shop).exit_code == 0
    result = run_in_process("verify", "--vectors", folder=shop)
    assert result.exit_code == 3
    assert "wrong_vectors 1: entity or fact whose embedding is not that of" in result.stdout
