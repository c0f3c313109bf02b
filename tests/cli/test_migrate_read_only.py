"""`turnetl migrate` on a Neo4j that may not be written: sentences, and the graph stays."""

from pathlib import Path

import pytest

from tests.cli.command import SAMPLES
from tests.legacy.migrating import dumped, fill, migrated, state_of, states_of, turnetl
from tests.legacy.sessions import legacy_sessions
from tests.servers import neo4j_server

WRITING = (
    ("run", str(SAMPLES)),
    ("compare",),
    ("cutover", "--accept", "--yes"),
    ("rollback", "--discard", "--yes"),
)

pytestmark = [
    pytest.mark.full,
    pytest.mark.neo4j,
    pytest.mark.skipif(
        not neo4j_server.CAN_START,
        reason="a server that the test restarts needs Java and Maven",
    ),
]


def test_a_neo4j_without_the_right_to_write_is_planned_and_not_changed(tmp_path: Path) -> None:
    home = tmp_path / "neo4j"
    with neo4j_server.started(home) as server:
        fill(server.url, legacy_sessions(Path(SAMPLES))[:2])
        migrated(tmp_path, server.url)
        before, state = dumped(server.url), state_of(server.url)
        neo4j_server.stop(server)
    with (home / "conf" / "neo4j.conf").open("a") as settings:
        settings.write("server.databases.read_only=neo4j\n")
    with neo4j_server.restarted(server, home) as again:
        planned = turnetl(tmp_path, again.url, "migrate", "plan", SAMPLES)
        assert planned.exit_code == 0, planned.stderr
        for command in WRITING:
            refused = turnetl(tmp_path, again.url, "migrate", *command)
            assert refused.exit_code == 1
            assert "may read, write and create indexes" in " ".join(refused.messages)
        assert dumped(again.url) == before
        assert list(states_of(again.url)) == [state]
