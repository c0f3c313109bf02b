"""The command as a person runs it: nothing of ours in its environment."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from turnetl import cli, console

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data" / "archives"


@dataclass(frozen=True)
class CommandResult:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        values = json.loads(self.stdout)
        assert isinstance(values, dict)
        return values

    @property
    def messages(self) -> list[str]:
        """The sentences meant for a person."""
        return [text for text in self.stderr.splitlines() if text.startswith("turnetl: ")]


def turnetl_process(*arguments: str | Path, folder: Path, **environment: str) -> CommandResult:
    """Run the command in `folder`, a process of its own, with settings only from `environment`."""
    ran = subprocess.run(
        command_line(*arguments),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=clean_environment(folder) | environment,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return CommandResult(ran.returncode, ran.stdout, ran.stderr)


def run_in_process(*arguments: str | Path, folder: Path, **environment: str) -> CommandResult:
    """Run the same in this process: it costs a second less, and sees no process begin or end."""
    out, err = StringIO(), StringIO()
    around = (
        chdir(folder),
        _environment(clean_environment(folder) | environment),
        _signal_handlers(),
        _log_handlers(),
    )
    with ExitStack() as stack:
        for one in (*around, redirect_stdout(out), redirect_stderr(err)):
            stack.enter_context(one)
        code = console.run(cli.app, [str(argument) for argument in arguments])
    assert "not foreseen" not in err.getvalue(), err.getvalue()
    return CommandResult(code, out.getvalue(), err.getvalue())


def command_line(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "turnetl.cli", *map(str, arguments)]


def clean_environment(home: Path) -> dict[str, str]:
    """This process's environment without any setting, and with another home."""
    ours = ("TURNETL_", "NEO4J_")
    there = {name: value for name, value in os.environ.items() if not name.startswith(ours)}  # noqa: TID251 - handed on
    # The secret scanner compiles its rules for seconds where it finds no cache of them.
    cache = there.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return there | {"HOME": str(home), "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)}


def _environment(environment: dict[str, str]) -> Any:
    return patch.dict(os.environ, environment, clear=True)  # noqa: TID251 - the command reads it


@contextmanager
def _signal_handlers() -> Iterator[None]:
    """Leave the answers to signals as they were."""
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {name: signal.getsignal(name) for name in names}
    try:
        yield
    finally:
        for name, answer in before.items():
            signal.signal(name, answer)


@contextmanager
def _log_handlers() -> Iterator[None]:
    """Leave those who hear our warnings as they were."""
    loggers = (logging.getLogger("turnetl"), logging.getLogger())
    before = [list(logger.handlers) for logger in loggers]
    try:
        yield
    finally:
        for logger, handlers in zip(loggers, before, strict=True):
            logger.handlers[:] = handlers
