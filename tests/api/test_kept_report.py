"""A report that is complete is kept, whatever fails at the end of the run."""

import logging
from collections.abc import Callable

import pytest

from turnetl.base.errors import GraphBusy
from turnetl.pipeline.kept_report import kept_report


async def test_a_failure_after_the_report_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def work(keep: Callable[[str], None]) -> None:
        keep("84 turns committed")
        raise GraphBusy("the graph is gone")

    assert await kept_report(work) == "84 turns committed"
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "the graph is gone" in warning.getMessage()


async def test_a_failure_before_the_report_is_raised() -> None:
    async def work(_: Callable[[str], None]) -> None:
        raise GraphBusy("the graph is gone")

    with pytest.raises(GraphBusy):
        await kept_report(work)


async def test_the_last_report_counts() -> None:
    async def work(keep: Callable[[str], None]) -> None:
        keep("84 turns committed")
        keep("84 turns committed, and 3 requests")

    assert await kept_report(work) == "84 turns committed, and 3 requests"
