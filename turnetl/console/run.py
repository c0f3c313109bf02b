"""One command from its arguments to its exit code: every error becomes one sentence."""

import os
import sys
import traceback
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from cyclopts import CycloptsError

from turnetl.base import stop_signals
from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import TurnetlError
from turnetl.base.exit_code import ExitCode
from turnetl.base.stop_signals import StopSignals
from turnetl.console import log
from turnetl.console.output import print_messages
from turnetl.console.usage_errors import usage_sentence

_INTERRUPTED = "stopped; finished work is kept, and the same command continues from there"
_INTERRUPTED_READING = "stopped before there was a result; run the same command again to get it"
_UNEXPECTED = "unexpected error: {}: {}; run again with --debug to see the traceback, and report it"
_FILE_ERROR = "{}: {}; run again with --debug to see where"


@dataclass(frozen=True)
class _Flags:
    """Options that count even when the arguments cannot be parsed."""

    json: bool
    verbose: bool
    debug: bool

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "_Flags":
        options = arguments[: arguments.index("--")] if "--" in arguments else arguments
        return cls(
            json="--json" in options,
            verbose="--verbose" in options or "-v" in options,
            debug="--debug" in options,
        )


def run(app: Callable[..., Any], arguments: Sequence[str], *, reading: Collection[str] = ()) -> int:
    """Run a command and return its exit code. Raises nothing.

    Nothing is left to continue of the commands in `reading`, which only read.
    """
    flags = _Flags.of(arguments)
    try:
        try:
            with StopSignals().installed():
                log.install(verbose=flags.verbose, debug=flags.debug)
                code = app(list(arguments), exit_on_error=False, print_error=False)
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last resort
            is_reading = bool(arguments) and arguments[0] in reading
            code = _failed(error, flags, _INTERRUPTED_READING if is_reading else _INTERRUPTED)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe. Python flushes standard output at exit and must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    return code if isinstance(code, int) else ExitCode.DONE


def _failed(error: BaseException, flags: _Flags, interrupted: str) -> int:
    """Say why the command failed, and return its exit code."""
    if flags.debug and not isinstance(error, CycloptsError):
        print(displayed_text("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    message, code = _explained(error, interrupted)
    print_messages(error.lines if isinstance(error, TurnetlError) else [message])
    if flags.json:
        from turnetl.base.results import ErrorOutput, encoded

        # The name of a file that is not UTF-8 has surrogates, which JSON cannot hold.
        told = message.encode("utf-8", "backslashreplace").decode()
        print(encoded(ErrorOutput(error=told, exit_code=code)))
    return code


def _explained(error: BaseException, interrupted: str) -> tuple[str, int]:
    """Return the sentence and the exit code of an error; `interrupted` is that of a signal."""
    match error:
        case CycloptsError():
            return usage_sentence(error), ExitCode.USAGE
        case TurnetlError():
            return str(error), error.exit_code
        case KeyboardInterrupt():
            return str(error) or interrupted, ExitCode.INTERRUPTED
        case OSError(strerror=str(reason)):
            return _FILE_ERROR.format(error.filename or "file", reason), ExitCode.FAILED
        case _:
            return _UNEXPECTED.format(type(error).__name__, error), ExitCode.FAILED


T = TypeVar("T")


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result.

    The first signal cancels it and waits, so that responses that are paid for are stored. A second
    signal stops the wait.
    """
    with stop_signals.current().cancelling() as cancel_by:
        # Takes 50 ms to import, which `--help` must not spend.
        import asyncio

        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            task = loop.create_task(coroutine)

            def cancel() -> None:
                with suppress(RuntimeError):  # the loop is closed: there is nothing to cancel
                    loop.call_soon_threadsafe(task.cancel)

            cancel_by(cancel)
            return loop.run_until_complete(task)


def interruptible() -> AbstractContextManager[None]:
    """Let a signal interrupt the work of the block, which blocks the event loop."""
    return stop_signals.current().blocking()
