"""How the command answers: the only place that prints.

Results go to standard output, as tables or with `--json` as one object; progress, warnings and
errors go to standard error, a sentence each. Nothing heavy is imported before it is needed.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from cyclopts import App, CycloptsError, UnusedCliTokensError

from turnetl.errors import TurnetlError

if TYPE_CHECKING:  # importing it would bring rich, and `--help` must not pay it
    from asyncio import AbstractEventLoop, Task
    from logging import LogRecord

    from turnetl.progress import Progress

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_MOMENT = 0.02
"""Seconds."""

_SEE = "see `turnetl --help`"

T = TypeVar("T")


def run(app: App, arguments: Sequence[str]) -> int:
    """Run a command and return its exit code, whatever comes of it."""
    _hear_signals()
    try:
        code = _run(app, list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has gone; nothing more can be said to them, not even by Python's exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def print_messages(sentences: Iterable[str]) -> None:
    """Tell a person."""
    for sentence in sentences:
        print(f"turnetl: {sentence}", file=sys.stderr)


def print_result(table: Any, values: dict[str, Any], *, as_json: bool) -> None:
    """Give the result: what rich can show, a text as it is, or the values as one JSON object."""
    if as_json or isinstance(table, str):
        print(json.dumps(values, ensure_ascii=False) if as_json else table)
        return
    from rich.console import Console

    Console().print(table, crop=False)


@contextmanager
def show_progress(*, as_json: bool) -> Iterator["Progress"]:
    """Show bars on standard error, on a terminal; say nothing elsewhere or with --json."""
    from turnetl.progress import ignore_progress
    from turnetl.report.progress_bars import ProgressBars

    if as_json or not sys.stderr.isatty():
        yield ignore_progress
        return
    with ProgressBars() as bars:
        yield bars.step


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Do the work and return what came of it.

    Who stops it once lets it end what is paid for; who stops it twice does not.
    """
    import asyncio

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt as stop:
            _cancelled(task, loop, stop)
            raise


def _cancelled(task: "Task[Any]", loop: "AbstractEventLoop", stop: KeyboardInterrupt) -> None:
    """Let a task end by itself, and all that it began before; until somebody stops us again."""
    task.cancel()
    while not task.done():
        try:
            loop.run_until_complete(task)
        except KeyboardInterrupt as again:
            # One that struck within a task comes out of every task that waits for that one.
            if again is not stop:
                return
        except BaseException:  # noqa: BLE001 - we are stopping, whatever else is wrong
            return


def version() -> str:
    from importlib import metadata

    return metadata.version("turnetl")


def unique_messages() -> "Callable[[LogRecord], bool]":
    """Return a filter that lets each message of a log through once."""
    said: set[str] = set()

    def is_new(record: "LogRecord") -> bool:
        message = record.getMessage()
        new = message not in said
        said.add(message)
        return new

    return is_new


def _hear_signals() -> None:
    """Whoever stops us politely is answered as a person with Ctrl-C is: at once.

    With Python's own answer to Ctrl-C, asyncio would first wait for what is under way.
    """
    for name in ("SIGINT", "SIGTERM", "SIGALRM"):
        if hasattr(signal, name):  # Windows has no alarm
            signal.signal(getattr(signal, name), _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Stop here; or in a moment, if polars is at work.

    It takes an interrupt for a fault of its own, and says so at length.
    """
    if _is_in_polars(frame) and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        return
    raise KeyboardInterrupt


def _is_in_polars(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "polars":
            return True
        frame = frame.f_back
    return False


def _run(app: App, arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        _hear_warnings()
        code = app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return _failed(_misunderstood(error), USAGE, as_json=as_json)
    except TurnetlError as error:
        return _failed(str(error), error.exit_code, as_json=as_json)
    except KeyboardInterrupt:
        said = "stopped; what is done stays, and the same command goes on from there"
        return _failed(said, INTERRUPTED, as_json=as_json)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _failed(f"{error.filename or 'file'}: {error.strerror}", FAILED, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - a traceback helps nobody who runs this
        said = f"{type(error).__name__}: {error} (not foreseen: please report it)"
        return _failed(said, FAILED, as_json=as_json)
    return code if isinstance(code, int) else DONE


def _misunderstood(error: CycloptsError) -> str:
    if isinstance(error, UnusedCliTokensError):
        return f"`{' '.join(error.unused_tokens or ())}` means nothing here; {_SEE}"
    # Cyclopts names some of the commands, not all.
    said = str(error).partition(" Available commands:")[0].rstrip(".")
    return f"{said} {_SEE.capitalize()}" if said.endswith("?") else f"{said}; {_SEE}"


def _failed(message: str, code: int, *, as_json: bool) -> int:
    print_messages([message])
    if as_json:
        print(json.dumps({"error": message, "exit_code": code}))
    return code


def _hear_warnings() -> None:
    """Let our own warnings be heard, once each, and nobody else's: theirs would be no sentences."""
    import logging

    handler = logging.StreamHandler()
    handler.addFilter(unique_messages())
    handler.setFormatter(logging.Formatter("turnetl: %(message)s"))
    logging.getLogger("turnetl").addHandler(handler)
    logging.getLogger().addHandler(logging.NullHandler())
