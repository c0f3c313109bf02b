"""Every point at which a command may die: how many were tried, and how many were completed.

    python -m benchmarks.crashes [ladybug] [neo4j] [--command NAME] [--jobs 2] [--action TEAR]
        [--states 100]
    python -m benchmarks.crashes [ladybug] [neo4j] [--command NAME] [--jobs 2]
        --action FULL|CUT|STOP [--every 1] [--distinct] [--later] [--seconds 600]

A command is killed in every state in which it is at one of its points; with `--action TEAR` in
every state in which half of a write to a file was made. `tests/crashes/states.py` says why the
trial of a state covers all of its points. `--states 100` tries at most 100 of them, evenly spaced.

The other actions are tried at points, as in `tests/crashes`. `--every 10` takes one in ten, and
`--distinct` one of the same calls on the same file or connection in a row. With `--action STOP`
another run starts meanwhile; `--later` lets all leases expire before. `--seconds 600` ends the
trials of each command after that time; points are tried in random order, the same in each call.
`--jobs` programs work side by side, each in its own place.
"""

import argparse
import logging
import math
import random
import time
from collections.abc import Sequence
from functools import partial

from tests.crashes import faults
from tests.crashes.commands import COMMANDS
from tests.crashes.every_state import Tried, kill_in_every_state, shown, side_by_side, total
from tests.crashes.messages import Trial
from tests.crashes.points import distinct, is_growth, is_socket
from tests.crashes.trials import TrialProgram, programs

PROPERTIES = {
    faults.Action.FULL: is_growth,
    faults.Action.CUT: is_socket,
}
"""The points to which an action applies, unless it applies to all. A disk that is full from a point
on that needs no space is as full at the next one that does."""


def main() -> None:
    options = _options()
    logging.getLogger("neo4j").setLevel(logging.ERROR)
    for graph in options.graphs:
        with programs(graph, options.jobs) as started:
            for name in options.command or COMMANDS:
                # Tables do not depend on the graph.
                if graph == "ladybug" or COMMANDS[name].graph:
                    _try(started, graph, name, options)


def _try(
    started: Sequence[TrialProgram], graph: str, name: str, options: argparse.Namespace
) -> None:
    """Try a command; print the trials that failed, and what was tried."""
    begin = time.monotonic()
    if options.action in ("KILL", "TEAR"):
        tried = kill_in_every_state(
            started, name, torn=options.action == "TEAR", most=options.states
        )
    else:
        tried = total(
            side_by_side(
                [
                    partial(try_points, program, name, options, part)
                    for part, program in enumerate(started)
                ]
            )
        )
    for line in tried.failed:
        print(f"  {graph}, {name}, {options.action} {line}")
    seconds = time.monotonic() - begin
    print(f"{graph}, {name}, {options.action}: {tried}, {seconds:.0f} s", flush=True)


def try_points(program: TrialProgram, name: str, options: argparse.Namespace, part: int) -> Tried:
    """Try part of the points of a command."""
    points, begin = program.run(Trial(name, "COUNT")).points, time.monotonic()
    tried, failed = 0, []
    for number in chosen(points, options)[part :: options.jobs]:
        if time.monotonic() - begin > options.seconds:
            break
        tried += 1
        outcome = program.run(Trial(name, options.action, number, is_later=options.later))
        if not outcome.is_as_undisturbed or not outcome.is_orderly:
            failed.append(f"at point {number}, {points[number - 1]}: {shown(outcome)}")
    return Tried(len(points) if part == 0 else 0, 0, tried, tried, tuple(failed))


def chosen(points: Sequence[str], options: argparse.Namespace) -> list[int]:
    applies = PROPERTIES.get(faults.Action[options.action], lambda _: True)
    numbers = distinct(points) if options.distinct else range(1, len(points) + 1)
    fitting = [number for number in numbers if applies(points[number - 1])][:: options.every]
    if options.seconds < math.inf:
        random.Random(0).shuffle(fitting)
    return fitting


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--command", action="append", choices=COMMANDS)
    parser.add_argument("--action", default="KILL", choices=faults.Action.__members__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--distinct", action="store_true")
    parser.add_argument("--later", action="store_true")
    parser.add_argument("--states", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf)
    return parser.parse_args()


if __name__ == "__main__":
    main()
