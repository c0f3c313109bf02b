"""Every point at which a command may die: how many were tried, and how many were completed.

    python -m benchmarks.crashes [ladybug] [neo4j] [--command NAME] [--action KILL] [--every 1]
        [--distinct] [--later] [--slice 1/2] [--seconds 600]

Points, actions and commands are those of `tests/crashes`. `--every 10` takes one point in ten.
`--distinct` takes one of the same calls on the same file in a row: Ladybug writes a page per call.
With `--action STOP` another run starts meanwhile; `--later` lets all leases expire before.
`--slice 1/2` takes the first half of the points, for another process to take the second.
`--seconds 600` ends the trials of each command after that time; points are tried in random order,
which is the same in each call.
"""

import argparse
import logging
import math
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.crashes import faults
from tests.crashes.commands import COMMANDS
from tests.crashes.points import distinct, is_file, is_socket, is_write
from tests.crashes.program import Trial, TrialOutcome
from tests.crashes.trials import TrialProgram, started
from tests.servers import neo4j_server
from tests.servers.provider import serving

PROPERTIES = {
    faults.Action.TEAR: is_write,
    faults.Action.FULL: is_file,
    faults.Action.CUT: is_socket,
}
"""The points to which an action applies, unless it applies to all."""
_DIFFERENCES, _LINE = 6, 300
"""Shown of a trial that failed: differences, and characters of each and of how its runs ended."""


def main() -> None:
    options = _options()
    logging.getLogger("neo4j").setLevel(logging.ERROR)
    for graph in options.graphs:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            provider = stack.enter_context(serving())
            url = None
            if graph == "neo4j":
                server = neo4j_server.running(folder / "server")
                url = stack.enter_context(server).url
            library = faults.build(folder)
            program = stack.enter_context(started(library, folder / "work", url, provider.url))
            for name in options.command or COMMANDS:
                # Tables do not depend on the graph.
                if graph == "ladybug" or COMMANDS[name].graph:
                    try_points(program, graph, name, options)


def try_points(program: TrialProgram, graph: str, name: str, options: argparse.Namespace) -> None:
    """Try the points of a command; print those that fail, and their number."""
    points, begin = program.run(Trial(name, "COUNT")).points, time.monotonic()
    tried, failed = 0, 0
    for number in chosen(points, options):
        if time.monotonic() - begin > options.seconds:
            break
        tried += 1
        outcome = program.run(Trial(name, options.action, number, options.later))
        if not outcome.is_as_undisturbed or not outcome.is_orderly:
            failed += 1
            print(f"  {graph} {name} {number} {points[number - 1]}: {_shown(outcome)}", flush=True)
    print(
        f"{graph}, {name}, {options.action}: {tried} of {len(points)} points tried, "
        f"{tried - failed} passed, {time.monotonic() - begin:.0f} s",
        flush=True,
    )


def _shown(outcome: TrialOutcome) -> str:
    """Return how a trial ended, with the beginnings of some differences: they hold vectors."""
    ends = (outcome.ended, outcome.other, outcome.repeated)
    lines = [" | ".join(end[-_LINE:] for end in ends)]
    lines += [line[:_LINE] for line in outcome.differences[:_DIFFERENCES]]
    if len(outcome.differences) > _DIFFERENCES:
        lines.append(f"… {len(outcome.differences)} differences")
    return "\n    ".join(lines)


def chosen(points: Sequence[str], options: argparse.Namespace) -> list[int]:
    applies = PROPERTIES.get(faults.Action[options.action], lambda _: True)
    numbers = distinct(points) if options.distinct else range(1, len(points) + 1)
    fitting = [number for number in numbers if applies(points[number - 1])][:: options.every]
    part, parts = (int(number) for number in options.slice.split("/"))
    taken = fitting[len(fitting) * (part - 1) // parts : len(fitting) * part // parts]
    if options.seconds < math.inf:
        random.Random(0).shuffle(taken)  # noqa: S311 - not for cryptography
    return taken


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--command", action="append", choices=COMMANDS)
    parser.add_argument("--action", default="KILL", choices=faults.Action.__members__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--distinct", action="store_true")
    parser.add_argument("--later", action="store_true")
    parser.add_argument("--slice", default="1/1")
    parser.add_argument("--seconds", type=float, default=math.inf)
    return parser.parse_args()


if __name__ == "__main__":
    main()
