"""The log on standard error: warnings as sentences, and with `--verbose` everything."""

import logging
import sys
import warnings
from collections.abc import Callable
from logging import LogRecord
from typing import TextIO

from turnetl.base.control_characters import DisplayingFormatter, displayed_message
from turnetl.console.terminal import wrapped

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""Attributes of every record; the others were passed as `extra`."""


class _SentenceFormatter(DisplayingFormatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - overrides
        return wrapped(super().formatMessage(record))


class _VerboseFormatter(DisplayingFormatter):
    """A line per record: time, level, logger, message, and what was passed as `extra`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - overrides
        return super().formatMessage(record) + displayed_message(details(record))


def details(record: logging.LogRecord) -> str:
    """Return what was passed as `extra`, as ` name=value` each; it may hold control characters."""
    extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return "".join(f" {name}={value}" for name, value in extra.items())


def install(*, verbose: bool, debug: bool) -> None:
    """Log to standard error, and print Python's warnings as the log is printed.

    Without `verbose`, the log has the warnings of turnetl, each once, and no record of any other
    package: those are not written for users. With `verbose` it has every record of turnetl.
    `debug` adds the records with the traceback of an error.
    """
    logger = logging.getLogger("turnetl")
    handler = logging.StreamHandler()
    if verbose:
        handler.setFormatter(_VerboseFormatter())
        logger.setLevel(logging.DEBUG)
    else:
        handler.setFormatter(_SentenceFormatter("turnetl: %(message)s"))
        handler.addFilter(unique_messages())
        handler.addFilter(_is_warning_or_traceback)
        logger.setLevel(logging.INFO if debug else logging.WARNING)
    logger.addHandler(handler)
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.showwarning = _show_warning


def _show_warning(  # noqa: PLR0917 - as Python's
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    text = warnings.formatwarning(message, category, filename, lineno, line)
    print(displayed_message(text.rstrip("\n")), file=file or sys.stderr)


def _is_warning_or_traceback(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or bool(record.exc_info or record.exc_text)


def unique_messages() -> Callable[[LogRecord], bool]:
    """Return a filter that lets each message of a log through once."""
    seen: set[str] = set()

    def is_new(record: LogRecord) -> bool:
        message = record.getMessage()
        new = message not in seen
        seen.add(message)
        return new

    return is_new
