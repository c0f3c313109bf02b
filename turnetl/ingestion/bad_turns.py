"""Unexpected errors in the content of one turn."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from turnetl.errors import TRACEBACK, BadTurn, TurnetlError
from turnetl.model import Episode

log = logging.getLogger(__name__)


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
