"""The contract of the Executor port."""

import pytest

from turnetl.base.errors import BadUsage, Fatal, GraphBusy
from turnetl.base.model import GroupId
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.pipeline import Executor, Stage, Unit

SHOP = GroupId("shop")


@pytest.mark.parametrize("stage", [Stage.PARSE, Stage.FILTER])
async def test_blocking_work_runs_once_and_its_result_is_returned(
    executor: Executor, stage: Stage
) -> None:
    calls: list[int] = []

    def work() -> str:
        calls.append(1)
        return "done"

    assert await executor.run_blocking(Unit(stage, "all"), work) == "done"
    assert calls == [1]


async def test_an_error_of_blocking_work_reaches_the_pipeline(executor: Executor) -> None:
    def work() -> None:
        raise Fatal("the disk is full")

    with pytest.raises(Fatal, match="the disk is full"):
        await executor.run_blocking(Unit(Stage.PARSE, "all"), work)


async def test_the_report_of_a_group_is_returned_also_if_it_failed(executor: Executor) -> None:
    report = GroupReport(SHOP, turns=3, error="the graph cannot be used", exit_code=1)

    async def work() -> GroupReport:
        return report

    assert await executor.run_group(SHOP, work) == report


async def test_an_error_of_a_group_reaches_the_pipeline(executor: Executor) -> None:
    async def work() -> GroupReport:
        raise BadUsage("there is no such group")

    with pytest.raises(BadUsage, match="no such group"):
        await executor.run_group(SHOP, work)


async def test_an_ingest_can_be_entered_more_than_once(executor: Executor) -> None:
    for _ in range(2):
        async with executor.ingesting():
            pass


async def test_a_stage_returns_its_result_and_raises_its_error(executor: Executor) -> None:
    async def plan() -> int:
        return 3

    async def run() -> int:
        raise Fatal("the disk is full")

    assert await executor.run_stage("plan", plan) == 3
    with pytest.raises(Fatal, match="the disk is full"):
        await executor.run_stage("run", run)


async def test_the_error_of_a_stage_that_stays_busy_reaches_the_pipeline(
    executor: Executor,
) -> None:
    async def run() -> int:
        raise GraphBusy("the graph is busy")

    with pytest.raises(GraphBusy, match="the graph is busy"):
        await executor.run_stage("run", run)
