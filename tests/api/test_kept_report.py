"""A report that is complete is kept, whatever fails at the end of the run."""

import logging

import pytest

from turnetl.base.errors import GraphBusy
from turnetl.pipeline.run_scope import kept_report


async def test_a_failure_after_the_report_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async with kept_report() as complete:
        complete()
        close_the_graph()

    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "the graph is gone" in warning.getMessage()


async def test_a_failure_before_the_report_is_raised() -> None:
    with pytest.raises(GraphBusy):
        async with kept_report():
            close_the_graph()


def close_the_graph() -> None:
    raise GraphBusy("the graph is gone")
