"""A program that carries out trials, for each kind of graph."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.crashes import faults
from tests.crashes.messages import Trial, TrialOutcome
from tests.crashes.points import is_write
from tests.crashes.trials import TrialProgram, programs, started
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider, serving


class TrialRunner:
    """A program, the server of its graph and the provider of its model."""

    def __init__(self, program: TrialProgram, graph: str | None, provider: FakeProvider) -> None:
        self._program = program
        self.port = urlsplit(graph).port if graph else None
        """Of the graph's server; None: the embedded graph."""
        self.provider = provider
        self._command = ""
        self._undisturbed = TrialOutcome("")

    def points(self, command: str) -> tuple[str, ...]:
        """Return the points of the command, which is run without a fault unless it was the last."""
        if self._command != command:
            self._command = command
            self._undisturbed = self._program.run(Trial(command, "COUNT"))
        return self._undisturbed.points

    def run(self, command: str, action: str, point: int, *, is_later: bool = False) -> TrialOutcome:
        """Run a trial of a point, counted from 1; a kill is after the last change before it."""
        points = self.points(command)
        number = point
        if action == "KILL":
            number = self._undisturbed.changes_before[point - 1]
        if action == "TEAR":
            number = sum(map(is_write, points[:point]))
        return self._program.run(Trial(command, action, number, is_later=is_later))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not faults.AVAILABLE:
        pytest.skip(faults.MISSING)
    return faults.build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def embedded(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrialRunner]:
    """A place with an embedded graph."""
    folder = tmp_path_factory.mktemp("embedded")
    with serving() as provider, started(library, folder, None, provider.url) as program:
        yield TrialRunner(program, None, provider)


@pytest.fixture(scope="module")
def served(
    library: Path,
    tmp_path_factory: pytest.TempPathFactory,
    neo4j_server_of_this_run: Neo4jServer,
) -> Iterator[TrialRunner]:
    """A place with a graph on a server, which is emptied afterwards."""
    folder, url = tmp_path_factory.mktemp("served"), neo4j_server_of_this_run.url
    with serving() as provider, started(library, folder, url, provider.url) as program:
        yield TrialRunner(program, url, provider)
    neo4j_server_of_this_run.clear()


@pytest.fixture(params=["embedded", pytest.param("served", marks=pytest.mark.neo4j)])
def place(request: pytest.FixtureRequest) -> TrialRunner:
    """A place of either kind."""
    found: TrialRunner = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module", params=["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def two_programs(
    request: pytest.FixtureRequest, library: Path
) -> Iterator[tuple[str, Sequence[TrialProgram]]]:
    """Two programs side by side, and which kind of graph they have."""
    assert library
    with programs(request.param, 2) as running:
        yield request.param, running
