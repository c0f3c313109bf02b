"""A command may die at any point: its repetition leaves what an undisturbed run leaves.

A point is a suspension or a resumption of a task, a change of a file, or a use of a connection. The
normal run tries a sample of them. With --exhaustive, and in `python -m benchmarks.crashes`, a
command is killed in every state in which it is at one of its points: see `states.py`.
"""

from collections.abc import Sequence

import pytest

from tests.crashes.commands import COMMANDS
from tests.crashes.conftest import TrialRunner
from tests.crashes.every_state import kill_in_every_state
from tests.crashes.points import is_growth, is_socket, is_write, sample
from tests.crashes.trials import TrialProgram

GRAPHS = [name for name, command in COMMANDS.items() if command.graph]
SAMPLES = {"parse": 1, "filter": 1, "ingest": 3, "undo": 2, "forget": 1, "summarize": 1} | {
    "review accept": 1,
    "migrate cutover": 1,
    "migrate rollback --discard": 1,
    "templates compare": 1,
}
"""Points of the normal run at which each command is killed."""
MANY, STOPS = 20, 6
"""Points of a sample with --full."""


def check(
    place: TrialRunner, command: str, action: str, numbers: list[int], *, is_later: bool = False
) -> None:
    """Try the points of a command, and print how many they are."""
    points = place.points(command)
    failed = []
    for number in numbers:
        outcome = place.run(command, action, number, is_later=is_later)
        if not (outcome.is_as_undisturbed and outcome.is_orderly):
            failed.append((number, points[number - 1], outcome))
    print(f"{command}: {len(numbers)} of {len(points)} points, {action}")  # noqa: T201 - with -s
    assert numbers
    assert not failed


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", SAMPLES)
def test_a_command_that_dies_is_completed_by_its_repetition(
    embedded: TrialRunner, command: str
) -> None:
    points, number = embedded.points(command), SAMPLES[command]
    check(embedded, command, "KILL", sample(points, number, None))
    if command in ("parse", "ingest"):
        check(embedded, command, "TEAR", sample(points, 1, None, of=is_write))


@pytest.mark.exhaustive
def test_a_forget_that_dies_while_the_copy_of_the_graph_is_merged_is_completed(
    embedded: TrialRunner,
) -> None:
    """The pages that a merge leaves would stop every database with the name of that copy."""
    points = embedded.points("forget")
    syncs = [number for number, point in enumerate(points, start=1) if is_sync_of_copy(point)]
    check(embedded, "forget", "KILL", syncs[-1:])


@pytest.mark.full
def test_a_forget_whose_disk_fills_up_while_the_graph_is_copied_says_so(
    embedded: TrialRunner,
) -> None:
    points = embedded.points("forget")
    writes = [number for number, point in enumerate(points, start=1) if is_log_of_copy(point)]
    check(embedded, "forget", "FULL", writes[:1])


def is_log_of_copy(point: str) -> bool:
    return point.startswith("pwrite /graph.lbug.rewritten.wal ")


def is_sync_of_copy(point: str) -> bool:
    return point.startswith("fdatasync /graph.lbug.rewritten ")


@pytest.mark.neo4j
@pytest.mark.parametrize("command", ["ingest", "undo"])
def test_a_command_on_a_server_that_dies_is_completed_by_its_repetition(
    served: TrialRunner, command: str
) -> None:
    points, number = served.points(command), SAMPLES[command] - 1
    check(served, command, "KILL", sample(points, number, served.port, of=is_socket))
    if command == "ingest":
        check(served, command, "CUT", sample(points, 1, None, of=is_socket))


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_may_be_killed_in_every_state(
    two_programs: tuple[str, Sequence[TrialProgram]], command: str
) -> None:
    graph, running = two_programs
    if graph == "neo4j" and not COMMANDS[command].graph:
        pytest.skip("the command uses no graph")
    tried = kill_in_every_state(running, command)
    print(f"{graph}, {command}: {tried}")  # noqa: T201 - with -s
    assert tried.trials > 1
    assert not tried.failed


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", COMMANDS)
def test_any_write_of_a_command_may_be_torn(embedded: TrialRunner, command: str) -> None:
    points = embedded.points(command)
    check(embedded, command, "TEAR", sample(points, MANY, None, of=is_write))


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_fills_up_at_any_point_is_an_error_and_the_repetition_completes_the_command(
    embedded: TrialRunner, command: str
) -> None:
    points = embedded.points(command)
    check(embedded, command, "FULL", sample(points, MANY, None, of=is_growth))


@pytest.mark.exhaustive
@pytest.mark.neo4j
@pytest.mark.parametrize("command", GRAPHS)
def test_a_connection_that_is_cut_at_any_point_loses_and_repeats_nothing(
    served: TrialRunner, command: str
) -> None:
    points = served.points(command)
    check(served, command, "CUT", sample(points, MANY, served.port, of=is_socket))


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("is_later", [False, True])
def test_a_command_that_is_stopped_while_another_one_runs_leaves_nothing_half_done(
    place: TrialRunner, command: str, *, is_later: bool
) -> None:
    """The second run starts immediately, or after every lease has expired."""
    numbers = sample(place.points(command), STOPS, place.port)
    check(place, command, "STOP", numbers, is_later=is_later)
