"""The flows of a schedule in this process: `rescue`, `nightly` and `summarize`."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prefect.artifacts import Artifact

import turnetl
from flows.artifacts import DIGEST, REPORT
from flows.backfill import backfill
from flows.nightly import nightly
from flows.rescue import rescue
from flows.summarize import summarize
from tests.cli.archives import conversation, write_archive
from tests.cli.summarize_runs import OTHER, UNFLUSHED, lease_elsewhere
from tests.prefect.conftest import ROOT
from turnetl.base.clock import now
from turnetl.base.model import GroupId

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    folder = tmp_path / "archives"
    folder.mkdir()
    shutil.copy(ROOT / "data/archives/shoebox/2026-04-19-heic.jsonl", folder)
    return folder


async def artifact(key: str) -> str:
    found = await Artifact.aget(key)
    assert found is not None
    return str(found.data)


@pytest.mark.full
async def test_a_rescue_fills_the_lake_and_opens_no_graph(archives: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    state = await rescue([str(archives)], lake=str(lake), return_state=True)
    assert state.is_completed(), state.message
    assert pl.read_parquet(lake / "turns" / "**" / "*.parquet").height == 3
    assert not (lake / "graph.lbug").exists()
    assert not (lake / "episodes").exists()
    lost = await rescue([str(archives), "/nowhere"], lake=str(lake), return_state=True)
    assert lost.is_failed()
    assert "`/nowhere` does not exist" in (lost.message or "")


@pytest.mark.full
async def test_a_nightly_run_publishes_a_digest_and_a_report_with_a_link_to_the_run(
    archives: Path, tmp_path: Path
) -> None:
    rows = conversation("Rename the cart to basket", at=now().replace(microsecond=0))
    write_archive(archives / "today.jsonl", rows)
    state = await nightly([str(archives)], lake=str(tmp_path / "lake"), return_state=True)
    assert state.is_completed(), state.message
    report, digest = await artifact(REPORT), await artifact(DIGEST)
    assert "| shoebox | 3 | 3 | " in report
    assert "/runs/flow-run/" in report.splitlines()[0]
    result: Any = await state.aresult()
    assert f"turnetl runs show {result['run_id']}" in report
    assert digest.startswith("# Digest")
    # The turn of today is still open, and the others are older than a day.
    assert "no turn since" in digest
    done = await nightly(
        [str(archives)],
        lake=str(tmp_path / "lake"),
        config=str(_closed_at_once(tmp_path)),
        return_state=True,
    )
    assert done.is_completed(), done.message
    assert "- Rename the cart to basket" in await artifact(DIGEST)


@pytest.mark.full
async def test_a_nightly_run_writes_the_page_on_everything_and_links_to_it(
    archives: Path, tmp_path: Path
) -> None:
    lake, page = str(tmp_path / "lake"), tmp_path / "report (all).html"
    state = await nightly([str(archives)], lake=lake, report_file=str(page), return_state=True)
    assert state.is_completed(), state.message
    assert "What the agents did" in page.read_text("utf-8")
    published = await artifact(REPORT)
    assert f"]({page.as_uri()})" in published
    assert "| shoebox | 3 | 3 | " in published


@pytest.mark.full
async def test_a_file_that_is_no_page_is_refused_before_a_nightly_run_does_anything(
    archives: Path, tmp_path: Path
) -> None:
    lake, notes = tmp_path / "lake", tmp_path / "notes.html"
    notes.write_text("mine", encoding="utf-8")
    state = await nightly(
        [str(archives)], lake=str(lake), report_file=str(notes), return_state=True
    )
    assert state.is_failed()
    assert "is no page of turnetl" in (state.message or "")
    assert not (lake / "turns").exists()
    assert notes.read_text("utf-8") == "mine"


def _closed_at_once(folder: Path) -> Path:
    config = folder / "config.json"
    config.write_text(json.dumps({"turnetl": {"close_after_minutes": 0}}))
    return config


@pytest.mark.full
async def test_deferred_summaries_are_written_by_their_own_flow(
    archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNETL_SUMMARIES__FLUSH", "false")
    lake = str(tmp_path / "lake")
    assert (await backfill([str(archives)], lake=lake, return_state=True)).is_completed()
    state = await summarize(lake=lake, return_state=True)
    assert state.is_completed(), state.message
    result: Any = await state.aresult()
    [group] = result["groups"]
    assert group["group"] == "shoebox"
    unknown = await summarize(lake=lake, groups=["nothing"], return_state=True)
    assert unknown.is_failed()
    assert "`nothing`" in (unknown.message or "")


@pytest.mark.full
async def test_a_nightly_run_without_new_turns_writes_what_earlier_runs_deferred(
    archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in UNFLUSHED.items():
        monkeypatch.setenv(name, value)
    lake = tmp_path / "lake"
    shutil.copy(ROOT / "data/archives/bookshop/2026-03-03-checkout.jsonl", archives)

    async def deferred() -> int:
        report = await turnetl.summarize(turnetl.Settings(lake=lake), dry_run=True)
        return report.to_write

    assert (await backfill([str(archives)], lake=str(lake), return_state=True)).is_completed()
    before = await deferred()
    assert before > 0
    for write, left in ((False, before), (True, 0)):
        state = await nightly([str(archives)], lake=str(lake), summarize=write, return_state=True)
        assert state.is_completed(), state.message
        assert await deferred() == left


@pytest.mark.full
async def test_deferred_summaries_that_cannot_be_written_are_a_warning_of_the_nightly_run(
    archives: Path, tmp_path: Path, flow_log: pytest.LogCaptureFixture
) -> None:
    lake = tmp_path / "lake"
    assert (await backfill([str(archives)], lake=str(lake), return_state=True)).is_completed()
    await lease_elsewhere(f"ladybug://{lake / 'graph.lbug'}", GroupId("shoebox"))
    state = await nightly([str(archives)], lake=str(lake), return_state=True)
    assert state.is_completed(), state.message
    warnings = [one.getMessage() for one in flow_log.records if one.levelname == "WARNING"]
    assert any("shoebox" in one and OTHER in one for one in warnings), warnings
