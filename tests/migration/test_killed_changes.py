"""A cutover, a rollback or a finish that was killed before any of its transactions."""

import shutil
from pathlib import Path

import pytest

from tests.legacy.migrating import GROUP, dumped, state_of
from tests.migration.killed_changes import COMMUNITY, change, killed, ready, uuids
from turnetl.base.ids import sessions_group
from turnetl.graph.migrations import MigrationPhase
from turnetl.migration.moves import MigrationCommand

pytestmark = pytest.mark.full

CUTOVER, ROLLBACK, FINISH = MigrationCommand
MIDDLE = 14
"""A reading of the clock at which a part of all data has moved."""


@pytest.fixture(scope="module")
def ready_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an embedded graph that is ready for its cutover; it is only copied."""
    folder = tmp_path_factory.mktemp("ready")
    ready(folder, f"ladybug://{folder / 'graph.lbug'}")
    return folder


@pytest.fixture
def before(graph_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    """Make the graph ready for its cutover; return what it holds."""
    if not graph_url.startswith("ladybug:"):
        return ready(tmp_path, graph_url)
    shutil.copytree(request.getfixturevalue("ready_once"), tmp_path, dirs_exist_ok=True)
    return dumped(graph_url)


def test_a_cutover_that_is_killed_anywhere_is_taken_back_completely(
    graph_url: str, tmp_path: Path, before: list[str]
) -> None:
    kills = 0
    while killed(tmp_path, graph_url, CUTOVER, kills + 1):
        kills += 1
        if state_of(graph_url).phase is not MigrationPhase.READY:
            change(tmp_path, graph_url, ROLLBACK)
            assert dumped(graph_url) == before, f"killed at reading {kills} of the clock"
    assert kills > 10


def test_a_rollback_that_is_killed_anywhere_is_continued(
    graph_url: str, tmp_path: Path, before: list[str]
) -> None:
    change(tmp_path, graph_url, CUTOVER)
    cut_over, kills = dumped(graph_url), 0
    while killed(tmp_path, graph_url, ROLLBACK, kills + 1):
        kills += 1
        if state_of(graph_url).phase is not MigrationPhase.READY:
            change(tmp_path, graph_url, ROLLBACK)
        assert dumped(graph_url) == before, f"killed at reading {kills} of the clock"
        change(tmp_path, graph_url, CUTOVER)
        assert dumped(graph_url) == cut_over
    assert kills > 10


@pytest.mark.usefixtures("before")
def test_the_counts_of_a_continued_change_are_those_of_the_whole(
    graph_url: str, tmp_path: Path
) -> None:
    for command in (CUTOVER, ROLLBACK, CUTOVER, ROLLBACK):
        planned = change(tmp_path, graph_url, command)
        change(tmp_path, graph_url, ROLLBACK if command is CUTOVER else CUTOVER)
        assert killed(tmp_path, graph_url, command, MIDDLE)
        continued = change(tmp_path, graph_url, command)
        assert (continued.old, continued.turns) == (planned.old, planned.turns)
        assert continued.turn_ids == planned.turn_ids


@pytest.mark.usefixtures("before")
def test_a_cutover_moves_the_saga_and_the_community_of_old_data(
    graph_url: str, tmp_path: Path
) -> None:
    assert {"saga-old"} < {*uuids(graph_url, "sagas", GROUP)}
    change(tmp_path, graph_url, CUTOVER)
    old = sessions_group(GROUP, state_of(graph_url).migration_id)
    assert uuids(graph_url, "sagas", old) == ["saga-old"]
    assert uuids(graph_url, "communities", old) == [COMMUNITY]
