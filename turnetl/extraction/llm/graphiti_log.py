"""Graphiti's log while turnetl calls it: lines of turnetl's own log, for those who debug it.

Graphiti warns of what a model often does, as of facts that name entities which were not extracted,
on its own loggers. Nobody can act on it, and a library must not print. Its messages may quote a
turn, so that only their templates and numbers are logged.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

log = logging.getLogger(__name__)

_GRAPHITI = "graphiti_core"
_UNSTARTED = r"coroutine '\w*(search|embeddings|_edge)' was never awaited"
_is_called: ContextVar[bool] = ContextVar("turnetl_calls_graphiti", default=False)


def prepare() -> None:
    """Let the loggers of Graphiti's imported modules log to turnetl's within `called`.

    What Graphiti logs when another program calls it stays as it is. Safe to repeat.
    """
    # Of searches that Graphiti was about to start when a run stopped.
    warnings.filterwarnings("ignore", _UNSTARTED, RuntimeWarning)
    for name, logger in [*logging.root.manager.loggerDict.items()]:
        is_graphiti = name == _GRAPHITI or name.startswith(f"{_GRAPHITI}.")
        if (
            is_graphiti
            and isinstance(logger, logging.Logger)
            and _logged_here not in logger.filters
        ):
            logger.addFilter(_logged_here)


@contextmanager
def called() -> Iterator[None]:
    """Mark what runs inside, with the tasks that it starts, as turnetl's use of Graphiti."""
    token = _is_called.set(True)
    try:
        yield
    finally:
        _is_called.reset(token)


def _logged_here(record: logging.LogRecord) -> bool:
    """Log the record here if turnetl called Graphiti; return whether Graphiti logs it."""
    if not _is_called.get():
        return True
    arguments = record.args if isinstance(record.args, tuple) else ()
    text = record.msg if arguments and isinstance(record.msg, str) else "a message with its texts"
    numbers = [one for one in arguments if isinstance(one, int)]
    place = f"{record.name}:{record.lineno}"
    log.debug("Graphiti: %s", text, extra={"logger": place, "numbers": numbers})
    return False
