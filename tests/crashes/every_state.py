"""Kill a command in every state in which it may die, in several programs side by side.

Each program carries out its part of the trials in its own place, on its own graph.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from tests.crashes.messages import Trial, TrialOutcome
from tests.crashes.points import spread
from tests.crashes.trials import TrialProgram

_DIFFERENCES, _LINE = 6, 300
"""Shown of a trial that failed: differences, and characters of each and of how its runs ended."""


@dataclass(frozen=True)
class Tried:
    """What was tried, and what of it failed."""

    points: int
    """In all of these states; of torn writes: one each."""
    changes: int
    """After which the points are, including the beginning."""
    states: int
    """Distinct ones; those of two programs are not compared."""
    trials: int
    """One for each of these states, or for a sample of them."""
    failed: tuple[str, ...]
    """Of these trials: where, and how."""

    def __str__(self) -> str:
        passed = self.trials - len(self.failed)
        return (
            f"{self.points:,} points after {self.changes:,} changes, in {self.states:,} distinct "
            f"states: {self.trials:,} of {self.states:,} tried, {passed:,} passed"
        )


def kill_in_every_state(
    programs: Sequence[TrialProgram],
    command: str,
    *,
    torn: bool = False,
    most: int | None = None,
) -> Tried:
    """Kill the command in each of its states, repeat it, and compare.

    Args:
        programs: in places of their own.
        command: its name.
        torn: in the states in which half of a write was made, instead of those after a change.
        most: at most this number of states, evenly spaced; None: all.
    """
    parts = [
        partial(
            _kill,
            program,
            Trial(command, "STEP_TEAR" if torn else "STEP", part=part, parts=len(programs)),
            None if most is None else -(-most // len(programs)),
        )
        for part, program in enumerate(programs, start=1)
    ]
    return total(side_by_side(parts))


def side_by_side(parts: Sequence[Callable[[], Tried]]) -> list[Tried]:
    with ThreadPoolExecutor(len(parts)) as threads:
        return [done.result() for done in [threads.submit(part) for part in parts]]


def total(parts: Sequence[Tried]) -> Tried:
    return Tried(
        sum(part.points for part in parts),
        sum(part.changes for part in parts),
        sum(part.states for part in parts),
        sum(part.trials for part in parts),
        tuple(line for part in parts for line in part.failed),
    )


def _kill(program: TrialProgram, steps: Trial, most: int | None) -> Tried:
    program.run(Trial(steps.command, "COUNT"))
    states = program.run(steps).states
    chosen = states if most is None else spread(states, most)
    action = "KILL" if steps.action == "STEP" else "TEAR"
    failed = []
    for state in chosen:
        outcome = program.run(Trial(steps.command, action, state.change))
        if outcome.ended != "killed" or not outcome.is_as_undisturbed:
            failed.append(f"after change {state.change}: {shown(outcome)}")
    points, changes = sum(state.points for state in states), sum(state.changes for state in states)
    return Tried(points, changes, len(states), len(chosen), tuple(failed))


def shown(outcome: TrialOutcome) -> str:
    """Return how a trial ended, with the beginnings of some differences: they hold vectors."""
    ends = (outcome.ended, outcome.other, outcome.repeated)
    lines = [" | ".join(end[-_LINE:] for end in ends)]
    if outcome.paid_twice:
        lines.append(f"{outcome.paid_twice} requests were paid for twice")
    lines += [line[:_LINE] for line in outcome.differences[:_DIFFERENCES]]
    if len(outcome.differences) > _DIFFERENCES:
        lines.append(f"… {len(outcome.differences)} differences")
    return "\n    ".join(lines)
