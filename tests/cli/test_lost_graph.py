"""What a run reports if its Neo4j fails in the middle: everything that it has committed."""

from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import write_session
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.relay import Failure, relaying

pytestmark = pytest.mark.neo4j

TURNS, COMMITTED = 12, 5
COMMIT = b"CREATE (c:TurnCommit)"


@pytest.mark.parametrize("failure", Failure)
def test_a_run_that_loses_its_graph_reports_every_committed_turn(
    neo4j: Neo4jServer, tmp_path: Path, failure: Failure
) -> None:
    write_session(tmp_path / "a.jsonl", TURNS)
    with relaying(neo4j.host, COMMIT, COMMITTED + 1, failure) as relay:
        result = _backfill(relay.host, neo4j, tmp_path)
        assert relay.has_failed
    (group,) = result.json["groups"]
    assert result.exit_code == 1
    assert (result.json["committed"], result.json["pending"]) == (COMMITTED, TURNS - COMMITTED)
    assert (group["committed"], group["uncommitted_reasons"]) == (
        COMMITTED,
        {"ready": TURNS - COMMITTED},
    )
    assert "does not respond" in group["error"]
    assert _committed(neo4j) == COMMITTED


def test_a_run_on_a_graph_that_does_not_respond_reports_the_turns_of_the_lake_as_pending(
    neo4j: Neo4jServer, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", TURNS)
    with relaying(neo4j.host, b"", 0, Failure.FROZEN) as relay:
        result = _backfill(relay.host, neo4j, tmp_path)
    (group,) = result.json["groups"]
    assert result.exit_code == 1
    assert "does not respond" in result.json["error"]
    assert (result.json["committed"], result.json["pending"]) == (0, TURNS)
    assert (group["uncommitted_reasons"], group["episodes"]) == ({"unknown": TURNS}, None)


def _backfill(host: str, neo4j: Neo4jServer, folder: Path) -> CommandResult:
    url = f"{neo4j.scheme}://{neo4j.user}:{neo4j.password}@{host}"
    settings = {"TURNETL_GRAPH_TIMEOUT_SECONDS": "2"}
    return run_in_process(
        "backfill", "a.jsonl", "--json", "--graph", url, folder=folder, **settings
    )


def _committed(neo4j: Neo4jServer) -> object:
    return neo4j.run("MATCH (c:TurnCommit) RETURN count(c) AS turns")[0]["turns"]
