"""The command as a user runs it, with no settings of the developer in its environment."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from jsonschema import Draft202012Validator

from turnetl import cli, console
from turnetl.json_output.schemas import OUTPUTS, json_schema

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data" / "archives"

_UNEXPECTED = re.compile(r"unexpected error|\(unexpected |Traceback")
"""The messages about an exception that no code foresees: of a command, and of an archive."""


@dataclass(frozen=True)
class CommandResult:
    arguments: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The object on standard output, validated against the JSON Schema of the command."""
        values = json.loads(self.stdout)
        assert isinstance(values, dict)
        _validator(_command_name(self.arguments)).validate(values)
        return values

    @property
    def messages(self) -> list[str]:
        """The sentences for the user."""
        return [line for line in self.stderr.splitlines() if line.startswith("turnetl: ")]


def turnetl_process(*arguments: str | Path, folder: Path, **environment: str) -> CommandResult:
    """Run the command in `folder` as a process, with settings from `environment` only."""
    process = subprocess.run(
        command_line(*arguments),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=clean_environment(folder) | environment,
    )
    assert "Traceback" not in process.stderr, process.stderr
    strings = tuple(map(str, arguments))
    return CommandResult(strings, process.returncode, process.stdout, process.stderr)


def run_in_process(*arguments: str | Path, folder: Path, **environment: str) -> CommandResult:
    """Run the command in this process: a second faster, but without the start and end of one."""
    stdout, stderr = StringIO(), StringIO()
    strings = tuple(map(str, arguments))
    contexts = (
        chdir(folder),
        _environment(clean_environment(folder) | environment),
        restored_handlers(),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    )
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        code = console.run(cli.app, strings, reading=cli.READING_COMMANDS)
    assert not _UNEXPECTED.search(stderr.getvalue()), stderr.getvalue()
    return CommandResult(strings, code, stdout.getvalue(), stderr.getvalue())


def write_config(home: Path, **sections: object) -> Path:
    """Write the config file of the user whose home this is."""
    path = home / ".graphiti" / "graphiti.config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(sections))
    return path


def command_line(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "turnetl", *map(str, arguments)]


def clean_environment(home: Path) -> dict[str, str]:
    """Return the environment of this process without settings, and with another home."""
    settings = (
        *("TURNETL_", "NEO4J_", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"),
        *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"),
    )
    kept = {name: text for name, text in os.environ.items() if not name.startswith(settings)}  # noqa: TID251 - for a child
    # The secret scanner compiles its rules for seconds if it finds no cache of them.
    cache_folder = kept.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    # Windows has the home folder in the second one.
    homes = {"HOME": str(home), "USERPROFILE": str(home)}
    return kept | homes | {"XDG_CACHE_HOME": cache_folder, "PYTHONPATH": str(ROOT)}


def _command_name(arguments: tuple[str, ...]) -> str:
    names = (" ".join(arguments[:length]) for length in (2, 1))
    return next(name for name in names if name in OUTPUTS)


@cache
def _validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(json_schema(command))


def _environment(environment: dict[str, str]) -> Any:
    return patch.dict(os.environ, environment, clear=True)  # noqa: TID251 - the command reads it


@contextmanager
def restored_handlers() -> Iterator[None]:
    """Restore the handlers of signals and logs afterwards."""
    with _signal_handlers(), _log_handlers():
        yield


@contextmanager
def _signal_handlers() -> Iterator[None]:
    """Restore the signal handlers afterwards."""
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {name: signal.getsignal(name) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


@contextmanager
def _log_handlers() -> Iterator[None]:
    """Restore the handlers and levels of the loggers afterwards."""
    loggers = (logging.getLogger("turnetl"), logging.getLogger())
    before = [(list(logger.handlers), logger.level) for logger in loggers]
    try:
        yield
    finally:
        for logger, (handlers, level) in zip(loggers, before, strict=True):
            logger.handlers[:] = handlers
            logger.setLevel(level)


def index_folder(folder: Path) -> Path:
    """Return the folder of the only index of the lake in a folder."""
    (index,) = (folder / ".turnetl" / "lake" / "index").iterdir()
    return index
