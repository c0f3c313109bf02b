"""Archives in batches: all of one are heard, then all made into rows, then all kept.

Step by step and not archive by archive, because each step finds its code in the processor's caches:
that takes a quarter of the time away (benchmarks/parse.py).
"""

import gc
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from turnetl.errors import BadArchive, Fatal
from turnetl.lake import path_text
from turnetl.parse import problems
from turnetl.parse.archive_job import Heard, ParseOptions, Work, clean, clean_all, hear, keep, make
from turnetl.parse.report import ArchiveReport

log = logging.getLogger(__name__)

Placed = tuple[int, Work]
"""An archive and its place in the report."""

_ENOUGH = 16 << 20
"""Effort, in bytes, of a batch: some 120 ms, so that processes side by side end together. Half of
it would get the search for secrets ready twice as often, a sixth of all time."""
_SELDOM = (20_000, 20, 50)
"""Python's own are 700, 10, 10: with them a fifth of the time goes into looking."""
_STEPS: tuple[Callable[[Work, Any, ParseOptions], Any], ...] = (hear, clean, make, keep)


def batches(works: Iterable[Placed]) -> Iterator[tuple[Placed, ...]]:
    """Yield the archives in their order: one that is large, or many that are small."""
    left = deque(works)
    while left:
        yield tuple(_some(left))


def read(works: Sequence[Work], run: ParseOptions) -> list[ArchiveReport]:
    """Bring turns files up to date. Nothing in an archive can make it raise, or stop the others.

    Raises:
        Stop: the lake cannot be written.
    """
    so_far: list[Any] = [None] * len(works)
    with _seldom_collected():
        for step in _STEPS:
            if step is clean and _all_cleaned(so_far, run):
                continue
            for at, work in enumerate(works):
                if not isinstance(so_far[at], ArchiveReport):
                    so_far[at] = _taken(step, work, so_far[at], run)
    return so_far


def _all_cleaned(so_far: list[Any], run: ParseOptions) -> bool:
    """Clean all that was heard at once; return False if that fails, and clean none."""
    places = [at for at, one in enumerate(so_far) if isinstance(one, Heard)]
    try:
        cleaned = clean_all([so_far[at] for at in places], run)
    except Exception:  # noqa: BLE001 - whatever it is, it shall be said of the archive it is about
        return False
    for at, one in zip(places, cleaned, strict=True):
        so_far[at] = one
    return True


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Have the collector look for cycles seldom: turns are many, and make none."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _some(left: deque[Placed]) -> Iterator[Placed]:
    effort = 0
    while left and (not effort or effort + left[0][1].effort <= _ENOUGH):
        effort += left[0][1].effort
        yield left.popleft()


def _taken(
    step: Callable[[Work, Any, ParseOptions], Any], work: Work, before: Any, run: ParseOptions
) -> Any:
    """Take a step, or return the report of an archive that cannot take it."""
    path = work.seen.path
    try:
        return step(work, before, run)
    except BadArchive as error:
        return problems.refused(path, error)
    except Fatal:
        raise
    except MemoryError:
        return problems.refused(path, problems.too_much(path))
    except Exception as error:
        # One archive must not stop ten thousand others.
        log.debug("archive not read", exc_info=True, extra={"archive": path_text(path)})
        return problems.refused(path, problems.not_foreseen(path, error))
