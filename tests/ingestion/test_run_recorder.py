"""A run is recorded when it takes its first lease, and completed at its end."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.graph.sample_changes import NOW
from tests.graph.test_run_contract import RUN
from turnetl.base.graph_model import RunOutcome
from turnetl.base.model import GroupId, Usage
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_report import GroupReport, IngestReport
from turnetl.ingestion.ingest_run import RunRecorder
from turnetl.pipeline.run_scope import recording

END = NOW + timedelta(minutes=3)
PAID = Usage(4, 900, 80, 0.5)


@pytest.fixture
def graph_url(tmp_path: Path) -> str:
    """The stores have a contract of their own."""
    return f"ladybug://{tmp_path / 'graph.lbug'}"


@pytest.fixture
def recorder(store: GraphStore) -> RunRecorder:
    return RunRecorder(store, lambda: RUN, lambda: END, lambda: PAID)


def report(*groups: GroupReport, exit_code: int = 0) -> IngestReport:
    return IngestReport("run-1", groups, exit_code=exit_code)


def group(name: str = "shop", *, exit_code: int = 0, error: str | None = None) -> GroupReport:
    return GroupReport(GroupId(name), turns=1, exit_code=exit_code, error=error)


async def test_a_run_without_a_lease_writes_nothing(
    recorder: RunRecorder, store: GraphStore
) -> None:
    await recorder.ended(report())
    assert await store.runs() == []


async def test_groups_that_take_their_leases_at_once_record_one_run(
    recorder: RunRecorder, store: GraphStore
) -> None:
    await asyncio.gather(recorder.started(), recorder.started())
    assert await store.runs() == [RUN]


@pytest.mark.parametrize(
    ("groups", "outcome", "error"),
    [
        ((group(),), RunOutcome.DONE, None),
        ((group(exit_code=4, error="budget"), group("b")), RunOutcome.STOPPED, "budget"),
        (
            (group(exit_code=4, error="budget"), group("b", exit_code=1)),
            RunOutcome.FAILED,
            "budget",
        ),
        ((group(exit_code=1, error="busy"),), RunOutcome.FAILED, "busy"),
    ],
)
async def test_the_end_says_how_the_run_ended_and_what_it_used(
    recorder: RunRecorder,
    store: GraphStore,
    groups: tuple[GroupReport, ...],
    outcome: RunOutcome,
    error: str | None,
) -> None:
    await recorder.started()
    await recorder.ended(report(*groups))
    ended = replace(RUN, ended_at=END, outcome=outcome, error=error, usage=PAID)
    assert await store.runs() == [ended]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (asyncio.CancelledError(), RunOutcome.INTERRUPTED),
        (KeyboardInterrupt(), RunOutcome.INTERRUPTED),
        (ZeroDivisionError("nobody thought of that"), RunOutcome.FAILED),
    ],
)
async def test_a_run_that_ends_without_a_report_is_completed_too(
    recorder: RunRecorder, store: GraphStore, error: BaseException, outcome: RunOutcome
) -> None:
    await recorder.started()
    with pytest.raises(type(error)):
        async with recording(recorder):
            raise error
    (run,) = await store.runs()
    assert (run.outcome, run.ended_at) == (outcome, END)
