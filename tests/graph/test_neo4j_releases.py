"""Contracts and searches hold on the newest Neo4j too, in a database of Cypher 25."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import neo4j_server
from tests.servers.neo4j_server import Neo4jServer

ROOT = Path(__file__).parents[2]
CONTRACTS = (
    "tests/graph/test_store_contract.py",
    "tests/graph/test_migration_contract.py",
    "tests/graph/test_reversal_contract.py",
    "tests/graph/test_recipes_against_neo4j.py",
    "tests/graph_mirror/test_against_neo4j.py",
    "tests/graph/test_neo4j_releases.py::test_the_server_is_of_the_selected_release",
)
NEEDS_JARS = pytest.mark.skipif(
    neo4j_server.IS_GIVEN or not neo4j_server.CAN_START,
    reason="these tests start a Neo4j of their own from its jars, with Java and Maven",
)


def run_contracts() -> int:
    """Run the contracts on the newest release in a process of their own; return how many passed."""
    selected = {**os.environ, "TURNETL_TEST_NEO4J_VERSION": neo4j_server.NEWEST}  # noqa: TID251
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "neo4j", "--both"]
    ended = subprocess.run(
        [*command, *CONTRACTS], env=selected, cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout[-4000:]
    passed = re.search(r"(\d+) passed", ended.stdout)
    return int(passed[1]) if passed else 0


@NEEDS_JARS
@pytest.mark.full
@pytest.mark.neo4j
def test_the_contracts_hold_on_the_newest_release() -> None:
    assert run_contracts() > 25


@pytest.mark.full
def test_the_server_is_of_the_selected_release(neo4j: Neo4jServer) -> None:
    components = "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel'"
    [kernel] = neo4j.run(f"{components} RETURN versions")
    if not neo4j_server.IS_GIVEN:
        expected = "5.26." if neo4j_server.IS_LTS else neo4j_server.VERSION
        assert expected in str(kernel["versions"])
    if neo4j_server.IS_LTS:
        return
    [database] = neo4j.run("SHOW DATABASE neo4j YIELD defaultLanguage")
    assert database == {"defaultLanguage": "CYPHER 25"}
