"""Start the program that carries out trials, and talk to it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from tests.cli.command import ROOT, clean_environment
from tests.crashes import faults
from tests.crashes.messages import Setup, Trial, TrialOutcome
from tests.servers import neo4j_server
from tests.servers.provider import serving

_SMALL = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1"),
    "TOKENIZERS_PARALLELISM": "false",
}
"""A library that starts threads before the fork could not be used after it."""


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
        env=clean_environment(folder) | faults.environment(library) | _SMALL,
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


@contextmanager
def programs(graph: str, number: int) -> Iterator[Sequence[TrialProgram]]:
    """Start programs, each in a place of its own, with a provider and a graph of its own.

    Args:
        graph: `ladybug` or `neo4j`.
        number: of programs; only one is started if only one server can be.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        library = faults.build(folder)
        many = [*range(number if graph == "ladybug" or neo4j_server.CAN_START else 1)]
        urls = [stack.enter_context(_graph(graph, folder / f"server {name}")) for name in many]
        providers = [stack.enter_context(serving()) for _ in many]
        yield [
            stack.enter_context(started(library, folder / str(name), url, provider.url))
            for name, url, provider in zip(many, urls, providers, strict=True)
        ]


@contextmanager
def _graph(graph: str, folder: Path) -> Iterator[str | None]:
    if graph == "ladybug":
        yield None
        return
    serve = neo4j_server.started if neo4j_server.CAN_START else neo4j_server.running
    with serve(folder) as server:
        yield server.url
