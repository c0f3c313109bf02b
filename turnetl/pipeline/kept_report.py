"""A report that is kept, whatever fails after it was made."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

R = TypeVar("R")

log = logging.getLogger(__name__)


async def kept_report(work: Callable[[Callable[[R], None]], Awaitable[None]]) -> R:
    """Return the last report that the work hands over, also if the work fails afterwards.

    What fails then, such as closing a graph that no longer responds, does not undo what the report
    states. A warning says what failed.

    Args:
        work: hands its report over as soon as it is complete, and again if more can be told.

    Raises:
        Exception: of the work, if it failed before it had a report.
    """
    reports: list[R] = []
    try:
        await work(reports.append)
    except Exception as error:
        if not reports:
            raise
        log.warning("the report is complete, but the end of the run failed: %s", error)
        log.debug("the end of the run failed", exc_info=error)
    return reports[-1]
