"""Start the program that carries out trials, and talk to it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.cli.command import ROOT, clean_environment
from tests.crashes.faults import environment
from tests.crashes.program import Setup, Trial, TrialOutcome

_SMALL = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
"""A library that starts threads when it is imported could not be forked."""


class TrialProgram:
    """The running program."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def run(self, trial: Trial) -> TrialOutcome:
        self.send(trial)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the program ended in {trial}"
        return msgspec.json.decode(line, type=TrialOutcome)

    def send(self, message: Trial | Setup) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(message) + b"\n")
        self._process.stdin.flush()


@contextmanager
def started(
    library: Path, folder: Path, graph: str | None = None, provider: str | None = None
) -> Iterator[TrialProgram]:
    """Start the program.

    Args:
        library: from `faults.build`.
        folder: for its files; nothing else is in it.
        graph: URL of a server; None: the embedded graph.
        provider: URL of a model's provider.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crashes.program"],
        cwd=ROOT,
        env=clean_environment(folder) | environment(library) | _SMALL,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        program = TrialProgram(process)
        program.send(Setup(os.fspath(folder / "place"), graph, provider))
        try:
            yield program
        finally:
            process.kill()
