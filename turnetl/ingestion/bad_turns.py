"""Turns that fail: unexpected errors in the content of one, and too many failures in a row."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from turnetl.base.errors import TRACEBACK, BadTurn, RunStopped, TurnetlError
from turnetl.base.model import Episode, GroupId

log = logging.getLogger(__name__)

MAX_CONSECUTIVE_FAILURES = 5
"""After this many failed turns in a row the cause is not the content of a turn: the run stops."""


@contextmanager
def as_bad_turn(episode: Episode) -> Iterator[None]:
    """Convert unexpected exceptions into BadTurn: one turn's content must not end the run."""
    try:
        yield
    except TurnetlError:
        raise
    except Exception as error:
        turn = episode.turn
        log.info("unexpected error in turn %s:%d", turn.archive, turn.first_line, exc_info=error)
        message = f"unexpected {type(error).__name__}: {error}; please report it with its traceback"
        raise BadTurn(f"{message}, {TRACEBACK}") from error


def too_many_failures(group: GroupId, failures: int) -> RunStopped:
    """Return the error of a run that stops after consecutive failures.

    Args:
        group: of the turns.
        failures: their number.
    """
    return RunStopped(
        f"group `{group}`: {failures} turns in a row failed; `turnetl status` shows the reasons: "
        "correct the cause, then run `turnetl retry`"
    )
