"""Run a command until a fault, run it again, and compare: many times, in forks of one process.

python -m tests.crashes.program

Reads a `Trial` per line, as JSON, and writes a `TrialOutcome`. The parent imports everything and
runs nothing, so that no thread works when it forks: a fork costs milliseconds where a start costs a
second.
"""

import asyncio
import gc
import importlib
import itertools
import logging
import os
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests.crashes.commands import COMMANDS, Command
from tests.crashes.faults import Action, FaultPoints
from tests.crashes.messages import Setup, Trial, TrialOutcome
from tests.crashes.payments import IN_FLIGHT, Payments
from tests.crashes.points import CHANGED, changes_before
from tests.crashes.results import Result, differences, renumbered, result
from tests.crashes.served_graph import Snapshot, clear, restore, snapshot
from tests.crashes.states import State, States
from tests.crashes.trial_context import TrialContext
from turnetl import pipeline, wiring
from turnetl.base.errors import TurnetlError
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.redact.literal_search import literal_search
from turnetl.redact.rules import RULES
from turnetl.redact.scanner import native_rules

_LAZY = (
    *("turnetl.pipeline.index_updates", "turnetl.pipeline.run_scope", "turnetl.llm.stack"),
    *("turnetl.extraction.llm.extractor", "turnetl.extraction.structural.extractor"),
    *("turnetl.graph.ladybug.store", "turnetl.graph.neo4j.store", "turnetl.index.persistent"),
    *("turnetl.parsing.batches", "turnetl.episodes.tables"),
)
LATER = timedelta(hours=1)
"""How much later another run starts: every lease has expired."""


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
        if Action[trial.action] in (Action.STEP, Action.STEP_TEAR):
            return TrialOutcome("done", states=tuple(self._states(command, trial)))
        paid = Payments(self._place) if command.is_paid_once else None
        ended, other = self._disturbed(command, trial)
        unrecorded = paid.unrecorded() if paid else 0
        repeated = self._fork(lambda: self._finish(command, self._saved("found")))
        found = self._load("found") if repeated == "done" else {}
        twice = max(unrecorded - IN_FLIGHT, 0) + (paid.unrecorded() if paid else 0)
        return TrialOutcome(
            ended, other, repeated, tuple(differences(self._expected, found)), twice
        )

    def _undisturbed(self, name: str) -> TrialOutcome:
        command, place = COMMANDS[name], self._place
        shutil.rmtree(place.folder, ignore_errors=True)
        place.folder.mkdir(parents=True)
        self._command, self._snapshot = name, None
        self._must(lambda: self._start(command))
        shutil.copytree(place.lake, self._template)
        if command.graph and place.graph is not None:
            self._snapshot = snapshot(place.graph)
        self._must(lambda: self._logged(command, Action.COUNT))
        self._must(lambda: self._finish(command, self._saved("found"), repeat=False))
        _import(self._saved("modules").read_text().split())
        self._expected = self._load("found")
        lines = self._lines()
        points = tuple(line for line in lines if not line.startswith(CHANGED))
        return TrialOutcome("done", points=points, changes_before=tuple(changes_before(lines)))

    def _lines(self) -> list[str]:
        """Return a line for each point and change of the last run that logged them."""
        return self._saved("points").read_text(errors="replace").splitlines()

    def _states(self, command: Command, trial: Trial) -> list[State]:
        """Run the command, and look at each state on the way while it is stopped."""
        states = States(self._place.lake, self._place.folder / "copy", self._faults)
        is_embedded = command.graph and self._place.graph is None
        alone: list[list[int]] = []
        child = self._begin(lambda: self._logged(command, Action[trial.action]))
        for change in itertools.count(1):
            _, status = os.waitpid(child, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            if change % trial.parts == trial.part % trial.parts:
                states.add(change) if is_embedded else alone.append([change])
            os.kill(child, signal.SIGCONT)
        assert self._ended(status) == "done", self._ended(status)
        same = [*alone, *states.distinct()]
        if trial.part == 1 and trial.action == "STEP":
            same.append([0])
        points = Counter(changes_before(self._lines()))
        if trial.action != "STEP":
            points = Counter(itertools.chain(*same))
        return [
            State(changes[0], len(changes), sum(points[change] for change in changes))
            for changes in sorted(same)
        ]

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

    def _logged(self, command: Command, action: Action) -> None:
        with self._saved("points").open("wb") as log:
            lake, excluded = self._place.lake, command.excluded
            self._faults.arm(action, lake, excluded=excluded, log=log.fileno())
            self._faults.run(lambda: command.run(self._place))
            self._faults.disarm()
        self._saved("modules").write_text("\n".join(sys.modules))

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


def _import(names: Sequence[str]) -> None:
    """Import what a command imported on first use, so that no later child of this process does.

    Args:
        names: of modules, in the order in which a child imported them.
    """
    for name in names:
        with suppress(ImportError):  # Compiled modules register names that nobody can import.
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _fill_caches() -> None:
    """Compile the rules for secrets, which is half of the time of a short run, without threads."""
    native_rules()
    literal_search(RULES)
    StaticModel.open().tokenize(["a text"])
    # A collection would copy the pages of all that was imported into each child.
    gc.collect()
    gc.freeze()


def main() -> None:
    _import_everything()
    _fill_caches()
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
