"""Run a command until a fault, run it again, and compare: many times, in forks of one process.

python -m tests.crashes.program

Reads a `Trial` per line, as JSON, and writes a `TrialOutcome`. The parent imports everything and
runs nothing, so that no thread works when it forks: a fork costs milliseconds where a start costs a
second.
"""

import asyncio
import importlib
import logging
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests.crashes.commands import COMMANDS, Command
from tests.crashes.faults import Action, FaultPoints
from tests.crashes.results import Result, renumbered, result
from tests.crashes.served_graph import Snapshot, clear, restore, snapshot
from tests.crashes.trial_context import TrialContext
from turnetl import pipeline, wiring
from turnetl.errors import TurnetlError

_LAZY = (
    *("turnetl.pipeline.index_updates", "turnetl.pipeline.run_records", "turnetl.llm.stack"),
    *("turnetl.extraction.llm.extractor", "turnetl.extraction.structural.extractor"),
    *("turnetl.graph.ladybug_store", "turnetl.graph.neo4j_store", "turnetl.index.persistent"),
    *("turnetl.parsing.batches", "turnetl.episodes.tables"),
)
LATER = timedelta(hours=1)
"""How much later another run starts: every lease has expired."""


class Trial(msgspec.Struct, frozen=True):
    """A command with a fault, or without one."""

    command: str
    action: str
    """Name of an `Action`. `COUNT` means no fault, and must come first."""
    point: int = 0
    is_later: bool = False
    """Whether the other run, while this one is stopped, starts after all leases have expired."""


class Setup(msgspec.Struct, frozen=True):
    """Where commands work: the first line of the input."""

    folder: str
    graph: str | None
    provider: str | None

    def place(self) -> TrialContext:
        return TrialContext(Path(self.folder), self.graph, self.provider)


class TrialOutcome(msgspec.Struct, frozen=True):
    """What became of a trial."""

    ended: str
    """`done`, `killed`, `signal N`, `failed: …` with the sentence, or `crashed: …`."""
    other: str = ""
    """How the other run ended, while this one was stopped."""
    repeated: str = ""
    """How the repetition ended."""
    differences: tuple[str, ...] = ()
    """What differs from an undisturbed run after the repetition."""
    points: tuple[str, ...] = ()
    """A line for each point, of a trial without a fault."""

    @property
    def is_orderly(self) -> bool:
        """Whether no run ended in an unexpected error, or by a signal of its own."""
        return all(
            ended in ("", "done", "killed") or ended.startswith("failed")
            for ended in (self.ended, self.other, self.repeated)
        )

    @property
    def is_as_undisturbed(self) -> bool:
        return self.repeated == "done" and not self.differences


class Trials:
    """Carries out trials in one place."""

    def __init__(self, place: TrialContext, faults: FaultPoints) -> None:
        self._place = place
        self._faults = faults
        self._command = ""
        self._expected: Result = {}
        self._snapshot: Snapshot | None = None

    def run(self, trial: Trial) -> TrialOutcome:
        if Action[trial.action] is Action.COUNT:
            return self._undisturbed(trial.command)
        assert trial.command == self._command, "an undisturbed run must come first"
        command = COMMANDS[trial.command]
        self._restore(command)
        ended, other = self._disturbed(command, trial)
        repeated = self._fork(lambda: self._finish(command, self._saved("found")))
        found = self._load("found") if repeated == "done" else {}
        return TrialOutcome(ended, other, repeated, tuple(differences(self._expected, found)))

    def _undisturbed(self, name: str) -> TrialOutcome:
        command, place = COMMANDS[name], self._place
        shutil.rmtree(place.folder, ignore_errors=True)
        place.folder.mkdir(parents=True)
        self._command, self._snapshot = name, None
        self._must(lambda: self._start(command))
        shutil.copytree(place.lake, self._template)
        if command.graph and place.graph is not None:
            self._snapshot = snapshot(place.graph)
        self._must(lambda: self._count(command))
        self._must(lambda: self._finish(command, self._saved("found"), repeat=False))
        self._expected = self._load("found")
        points = self._saved("points").read_text(errors="replace").splitlines()
        return TrialOutcome("done", points=tuple(points))

    @property
    def _template(self) -> Path:
        return self._place.folder / "template"

    def _start(self, command: Command) -> None:
        if command.graph and self._place.graph is not None:
            clear(self._place.graph)
        asyncio.run(_awaited(command.start(self._place)))

    def _restore(self, command: Command) -> None:
        shutil.rmtree(self._place.lake)
        shutil.copytree(self._template, self._place.lake)
        if command.graph and self._place.graph is not None and self._snapshot is not None:
            restore(self._place.graph, self._snapshot)

    def _count(self, command: Command) -> None:
        with self._saved("points").open("wb") as log:
            lake, excluded = self._place.lake, command.excluded
            self._faults.arm(Action.COUNT, lake, excluded=excluded, log=log.fileno())
            self._faults.run(lambda: command.run(self._place))
            self._faults.disarm()

    def _disturbed(self, command: Command, trial: Trial) -> tuple[str, str]:
        """Run the command until its fault; return how it ended, and how another run did."""

        def work() -> None:
            lake, action = self._place.lake, Action[trial.action]
            self._faults.arm(action, lake, trial.point, excluded=command.excluded)
            self._faults.run(lambda: command.run(self._place))

        child = self._begin(work)
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return self._ended(status), ""
        place = replace(self._place, ahead=LATER) if trial.is_later else self._place
        other = self._fork(lambda: asyncio.run(_awaited(command.run(place))))
        os.kill(child, signal.SIGCONT)
        return self._ended(os.waitpid(child, 0)[1]), other

    def _finish(self, command: Command, path: Path, *, repeat: bool = True) -> None:
        async def work() -> Result:
            if repeat:
                await command.run(self._place)
            await command.check(self._place)
            found = await result(self._place, graph=command.graph)
            return renumbered(found) if command.is_renumbering else found

        path.write_bytes(msgspec.json.encode(asyncio.run(work())))

    def _must(self, work: Callable[[], None]) -> None:
        ended = self._fork(work)
        assert ended == "done", ended

    def _fork(self, work: Callable[[], None]) -> str:
        return self._ended(os.waitpid(self._begin(work), 0)[1])

    def _begin(self, work: Callable[[], None]) -> int:
        self._saved("error").unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._serve(work)
        return child

    def _serve(self, work: Callable[[], None]) -> None:
        """Do the work of a child, and end it without the parent's cleanup."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the parent reports it
            self._faults.disarm()
            self._saved("error").write_text(_description(error))
            os._exit(1)
        os._exit(0)

    def _ended(self, status: int) -> str:
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return "killed" if number == signal.SIGKILL else f"signal {number}"
        error = self._saved("error")
        return error.read_text() if error.exists() else "done"

    def _saved(self, name: str) -> Path:
        return self._place.folder / f"{name}.out"

    def _load(self, name: str) -> Result:
        found: Result = msgspec.json.decode(self._saved(name).read_bytes(), type=Result)
        return found


def differences(expected: Result, found: Result) -> list[str]:
    """Return the lines that only one of two results has, with its sign."""
    return [
        f"{kind}: {sign} {line}"
        for kind in sorted({*expected, *found})
        for sign, lines, others in (
            ("-", expected.get(kind, []), found.get(kind, [])),
            ("+", found.get(kind, []), expected.get(kind, [])),
        )
        for line in _surplus(lines, others)
    ]


def _surplus(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    rest = list(others)
    surplus = []
    for line in lines:
        if line in rest:
            rest.remove(line)
        else:
            surplus.append(line)
    return surplus


def _description(error: BaseException) -> str:
    if isinstance(error, TurnetlError):
        return f"failed: {error}"
    return f"crashed: {''.join(traceback.format_exception(error))}"


async def _awaited(work: Any) -> None:
    await work


def _import_everything() -> None:
    """Import what commands import on first use: once here instead of in each child."""
    for package in (pipeline, wiring):
        for name in package.__all__:
            getattr(package, name)
    for module in _LAZY:
        importlib.import_module(module)


def main() -> None:
    _import_everything()
    logging.disable(logging.CRITICAL)
    lines = iter(sys.stdin)
    place = msgspec.json.decode(next(lines), type=Setup).place()
    trials = Trials(place, FaultPoints())
    for line in lines:
        outcome = trials.run(msgspec.json.decode(line, type=Trial))
        sys.stdout.write(f"{msgspec.json.encode(outcome).decode()}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
