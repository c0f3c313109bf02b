"""A graph that is busy while one group is planned delays that group and no other."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flows.executor import PrefectTasks
from tests.ingestion.fakes import PromptExtractor
from tests.prefect.conftest import ROOT
from turnetl import wiring
from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId
from turnetl.base.progress import ignore_progress
from turnetl.graph.port import GraphStore
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_report import IngestReport, exit_code_of
from turnetl.lake import Lake
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.pipeline import Executor, InProcess, RunOptions, filter_turns, parse_archives
from turnetl.pipeline.group_plans import PlannedGroups, plan_groups_in, turn_files
from turnetl.pipeline.previews import preview_requests
from turnetl.pipeline.run_ingest import ingest_groups
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.pipeline.run_scope import RunScope
from turnetl.settings import Settings
from turnetl.views import ingest as view

BOOKSHOP, SHOEBOX = GroupId("bookshop"), GroupId("shoebox")
TURNS = {BOOKSHOP: 2, SHOEBOX: 3}
ALWAYS = 1000


def clock() -> datetime:
    return datetime(2026, 7, 1, tzinfo=UTC)


class BusyStore:
    """A store that is busy for the first reads of the receipts of one group."""

    def __init__(self, store: GraphStore, *, busy: int, group: GroupId = BOOKSHOP) -> None:
        self._store, self.busy, self.group = store, busy, group
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        self.reads += group == self.group
        if group == self.group and self.reads <= self.busy:
            raise GraphBusy("the graph is busy")
        return await self._store.receipts(group)


@pytest.fixture
def graph_url(tmp_path: Path) -> str:
    """An embedded graph: which store is busy makes no difference."""
    return f"ladybug://{tmp_path / 'graph.lbug'}"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The archive of the bookshop."""
    return Path(shutil.copy(ROOT / "data/archives/bookshop/2026-05-05-export.jsonl", tmp_path))


@pytest.fixture
def settings(tmp_path: Path, archive: Path) -> Settings:
    """Of a lake with two groups, both filtered."""
    made = Settings(lake=tmp_path / "lake")
    other = ROOT / "data/archives/shoebox/2026-04-19-heic.jsonl"
    parse_archives([str(archive), str(other)], made)
    filter_turns(made)
    return made


async def plan(store: Any, settings: Settings) -> PlannedGroups:
    return await plan_groups_in(
        store, turn_files(Lake(settings.lake)), settings, RunOptions(), clock
    )


async def ingest(store: Any, settings: Settings, executor: Executor) -> IngestReport:
    """Plan and ingest with one store, as a run does with two."""
    resources = IngestResources(Lake(settings.lake), store, PromptExtractor(), WordLlamaEmbedder())
    async with wiring.model_stack(settings, clock) as stack:
        scope = RunScope(
            settings, stack, resources, new_ingest_run(settings, clock), lambda: None, _ended
        )
        return await ingest_groups(
            await plan(store, settings),
            scope,
            RunOptions(),
            executor=executor,
            progress=ignore_progress,
        )


async def _ended(_: IngestReport) -> None:
    """Record nothing."""


def committed(report: IngestReport) -> dict[GroupId, int]:
    return {group.group: group.committed for group in report.groups}


@pytest.mark.full
async def test_a_busy_group_is_reported_with_its_error_beside_the_plans_of_the_others(
    store: GraphStore, settings: Settings
) -> None:
    planned = await plan(BusyStore(store, busy=1), settings)
    assert list(planned.plans) == [SHOEBOX]
    bookshop, shoebox = planned.report.groups
    assert (bookshop.error, bookshop.retryable) == ("the graph is busy", True)
    assert bookshop.pending_reasons == {"unknown": TURNS[BOOKSHOP]}
    assert (shoebox.error, shoebox.ready) == (None, TURNS[SHOEBOX])
    assert view.errors(planned.report) == ["group `bookshop`: the graph is busy"]
    assert exit_code_of(planned.report) == 1


@pytest.mark.full
async def test_a_dry_run_previews_no_request_of_a_busy_group(
    store: GraphStore, settings: Settings
) -> None:
    only = RunOptions(groups=(BOOKSHOP,), dry_run=True)
    with_model = settings.model_copy(update={"extractor": "llm"})
    files = turn_files(Lake(settings.lake))
    planned = await plan_groups_in(BusyStore(store, busy=1), files, settings, only, clock)
    assert len(planned.report.groups) == 1
    assert await preview_requests(planned, with_model, only, clock) == ()


@pytest.mark.full
async def test_a_group_that_was_busy_while_it_was_planned_is_planned_when_it_is_ingested(
    executor: Executor, store: GraphStore, settings: Settings
) -> None:
    report = await ingest(BusyStore(store, busy=1), settings, executor)
    assert committed(report) == TURNS
    assert view.errors(report) == []


@pytest.mark.full
@pytest.mark.prefect
@pytest.mark.usefixtures("in_process_flows")
async def test_a_group_whose_planning_stays_busy_is_retried_as_a_task(
    store: GraphStore, settings: Settings
) -> None:
    tasks = PrefectTasks(batch_size=None, retry_delay=0)
    report = await ingest(BusyStore(store, busy=3), settings, tasks)
    assert committed(report) == TURNS


@pytest.mark.full
async def test_a_group_that_stays_busy_fails_alone(
    executor: Executor, store: GraphStore, settings: Settings
) -> None:
    report = await ingest(BusyStore(store, busy=ALWAYS), settings, executor)
    assert committed(report) == {BOOKSHOP: 0, SHOEBOX: TURNS[SHOEBOX]}
    assert view.errors(report) == ["group `bookshop`: the graph is busy"]


@pytest.mark.full
async def test_an_outdated_group_is_not_ingested_also_if_the_graph_was_busy(
    store: GraphStore, settings: Settings, archive: Path
) -> None:
    with archive.open("a") as appended:
        appended.write("{no json\n")
    parse_archives([str(archive)], settings)
    busy = BusyStore(store, busy=1)
    report = await ingest(busy, settings, InProcess())
    assert committed(report) == {BOOKSHOP: 0, SHOEBOX: TURNS[SHOEBOX]}
    (error,) = view.errors(report)
    assert "run `turnetl filter`" in error
    assert report.groups[0].pending_reasons == {"unknown": TURNS[BOOKSHOP]}
    assert (busy.reads, report.groups[0].retryable) == (1, False)
