"""The flow in this process, with the test run's Prefect server and an embedded graph."""

import asyncio
import json
import logging
import os
import shutil
import threading
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import Any

import polars as pl
import pytest
from prefect import State
from prefect.artifacts import Artifact
from prefect.states import Failed

from flows.artifacts import SUMMARIES
from flows.backfill import backfill
from flows.executor import PrefectTasks, ingest_group
from flows.stages import is_retryable
from tests.cli.archives import conversation, write_archive
from tests.cli.command import turnetl_process
from tests.cli.provider_setup import model_environment
from tests.prefect.conftest import ROOT
from tests.servers.provider import FakeProvider
from tests.servers.s3_server import S3Server
from turnetl.base.errors import BadTurn, GraphBusy, GraphUnusable
from turnetl.base.model import GroupId
from turnetl.ingestion.ingest_report import GroupReport

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]

SAMPLES = {"bookshop/2026-05-05-export.jsonl": 2, "shoebox/2026-04-19-heic.jsonl": 3}


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    folder = tmp_path / "archives"
    folder.mkdir()
    for name in SAMPLES:
        shutil.copy(ROOT / "data" / "archives" / name, folder)
    return folder


async def _run(archives: Path, lake: Path, **parameters: Any) -> State[Any]:
    state: State[Any] = await backfill(
        [str(archives)], lake=str(lake), **parameters, return_state=True
    )
    return state


@pytest.mark.full
async def test_every_turn_is_committed_and_a_second_run_commits_nothing(
    archives: Path, tmp_path: Path
) -> None:
    first = await (await _run(archives, tmp_path / "lake", batch_size=1)).aresult()
    second = await (await _run(archives, tmp_path / "lake", batch_size=1)).aresult()
    assert first["committed"] == sum(SAMPLES.values())
    assert {group["group"]: group["committed"] for group in first["groups"]} == {
        "bookshop": 2,
        "shoebox": 3,
    }
    assert (second["committed"], second["already_committed"]) == (0, sum(SAMPLES.values()))


@pytest.mark.full
async def test_the_decisions_about_summaries_of_a_run_are_an_artifact_with_a_row_per_group(
    archives: Path, tmp_path: Path
) -> None:
    done = await (await _run(archives, tmp_path / "lake")).aresult()
    artifact = await Artifact.aget(SUMMARIES)
    assert artifact is not None
    assert artifact.type == "markdown"
    for group in done["groups"]:
        cells = [
            ", ".join(f"{count} {reason}" for reason, count in group[name].items()) or "0"
            for name in ("summary_refreshed", "summary_skipped")
        ]
        assert f"| {group['group']} | {cells[0]} | {cells[1]} |" in str(artifact.data)
    assert " first" in str(artifact.data)


@pytest.mark.full
async def test_an_unreadable_archive_fails_the_run_but_the_others_are_ingested(
    archives: Path, tmp_path: Path
) -> None:
    with (archives / "2026-05-05-export.jsonl").open("a") as broken:
        broken.write("{no json\n")
    state = await backfill(
        [str(archives), str(tmp_path / "nowhere")], lake=str(tmp_path / "lake"), return_state=True
    )
    assert state.is_failed()
    assert (state.message or "").startswith(f"`{tmp_path / 'nowhere'}` does not exist")
    again = await (await _run(archives, tmp_path / "lake")).aresult()
    assert (again["committed"], again["already_committed"]) == (0, sum(SAMPLES.values()))


@pytest.mark.full
async def test_a_malformed_line_does_not_fail_the_run(archives: Path, tmp_path: Path) -> None:
    with (archives / "2026-05-05-export.jsonl").open("a") as broken:
        broken.write("{no json\n")
    state = await _run(archives, tmp_path / "lake")
    assert state.is_completed()
    assert (await state.aresult())["committed"] == sum(SAMPLES.values())


@pytest.mark.full
async def test_turns_without_a_time_fail_the_run_until_the_user_gives_one(tmp_path: Path) -> None:
    archives, lake = tmp_path / "archives", tmp_path / "lake"
    write_archive(
        archives / "timeless.jsonl",
        conversation("add a cart to the shop", "test the cart of the shop"),
    )
    state = await _run(archives, lake)
    assert state.is_failed()
    assert "--assume-time" in (state.message or "")
    dated = await (await _run(archives, lake, assume_time="2026-03-02", close_after=5)).aresult()
    assert (dated["committed"], dated["turns_with_assumed_time"]) == (2, 2)
    wrong = await _run(archives, lake, assume_time="yesterday")
    assert "`yesterday` is not a valid time" in (wrong.message or "")


@pytest.mark.full
async def test_a_group_template_and_a_group_map_apply(archives: Path, tmp_path: Path) -> None:
    exceptions = tmp_path / "groups.toml"
    exceptions.write_text('[[group]]\nname = "photos"\nfolders = ["**/shoebox"]\n')
    by = {"group": "{project}_{format}", "group_map": str(exceptions), "jobs": 1}
    done = await (await _run(archives, tmp_path / "lake", **by)).aresult()
    assert [group["group"] for group in done["groups"]] == ["bookshop_claude_code", "photos"]
    nowhere = await _run(archives, tmp_path / "lake", group_map="groups.toml")
    assert nowhere.is_failed()
    unread = await _run(archives, tmp_path / "lake", format="clay_tablets")
    assert "`clay_tablets`" in (unread.message or "")


@pytest.mark.full
async def test_noise_rules_and_redaction_come_from_the_config(tmp_path: Path) -> None:
    archives, config = tmp_path / "archives", tmp_path / "config.json"
    said = conversation(
        "thanks", "mail ada.l@till-example.org", at=datetime(2026, 3, 2, tzinfo=UTC)
    )
    write_archive(archives / "shop.jsonl", said)
    chosen = {
        "noise": {"enable": ["no_tool_calls"], "disable": ["acknowledgement"]},
        "redact_pii": True,
    }
    config.write_text(json.dumps({"turnetl": chosen}))
    done = await (await _run(archives, tmp_path / "lake", config=str(config))).aresult()
    assert [group["noise"] for group in done["groups"]] == [{"no_tool_calls": 2}]
    table = pl.read_parquet(tmp_path / "lake" / "episodes" / "shop.parquet")
    assert table["user_text"].str.contains("mail [REDACTED:email:", literal=True).sum() == 1


@pytest.fixture
def archives_url(s3: S3Server, archives: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of the archives in a bucket, which this process finds by its environment."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    bucket = s3.new_bucket()
    for path in archives.iterdir():
        s3.objects(bucket).put(f"logs/{path.name}", path.read_bytes())
    return f"s3://{bucket}/logs"


@pytest.mark.full
async def test_archives_of_a_bucket_are_ingested(archives_url: str, tmp_path: Path) -> None:
    given, lake = [archives_url], str(tmp_path / "lake")
    for committed in (sum(SAMPLES.values()), 0):
        state: State[Any] = await backfill(given, lake=lake, batch_size=1, return_state=True)
        assert (await state.aresult())["committed"] == committed


@pytest.mark.full
async def test_a_relative_path_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    state = await backfill(["archives"], return_state=True)
    assert state.is_failed()
    assert "archives" in (state.message or "")
    monkeypatch.setenv("TURNETL_LAKE", "lake")
    unset = await backfill([str(ROOT / "data" / "archives")], return_state=True)
    assert "`lake` is not an absolute path" in (unset.message or "")


async def test_a_password_in_a_parameter_fails_the_run_and_is_not_repeated(
    archives: Path, tmp_path: Path
) -> None:
    password = token_hex(8)
    url = f"bolt+s://neo4j:{password}@graph.example:7687"
    state = await _run(archives, tmp_path / "lake", graph=url)
    assert state.is_failed()
    assert "`graph` holds a password, which Prefect has stored" in (state.message or "")
    assert password not in (state.message or "")
    assert not (tmp_path / "lake").exists()


async def test_an_empty_range_of_times_fails_the_run_before_any_work(
    archives: Path, tmp_path: Path
) -> None:
    state = await _run(
        archives,
        tmp_path / "lake",
        since=datetime(2026, 5, 1, tzinfo=UTC),
        until=datetime(2026, 4, 1, tzinfo=UTC),
    )
    assert state.is_failed()
    assert "`until` must be after `since`" in (state.message or "")
    assert not (tmp_path / "lake").exists()


@pytest.mark.full
async def test_missing_model_slots_fail_the_run_and_the_message_says_how_to_create_them(
    archives: Path, tmp_path: Path
) -> None:
    state = await _run(archives, tmp_path / "lake", model_slots="missing-limit")
    assert state.is_failed()
    assert "prefect gcl create missing-limit" in (state.message or "")


@pytest.mark.full
async def test_a_broken_archive_is_in_the_log_also_if_the_run_fails_later(
    archives: Path, tmp_path: Path, flow_log: pytest.LogCaptureFixture
) -> None:
    (archives / "broken.jsonl.gz").write_bytes(b"\x1f\x8b no gzip")
    state = await _run(archives, tmp_path / "lake", model_slots="missing-limit")
    assert "prefect gcl create missing-limit" in (state.message or "")
    warnings = [log.message for log in flow_log.records if log.levelno == logging.WARNING]
    assert [message for message in warnings if "broken.jsonl.gz" in message] == warnings != []


@pytest.mark.full
async def test_a_busy_stage_is_retried_and_a_failed_one_is_not() -> None:
    errors: list[Exception] = [GraphBusy("busy"), BadTurn("broken")]

    async def work() -> int:
        raise errors.pop(0)

    with pytest.raises(BadTurn):
        await PrefectTasks(batch_size=None, retry_delay=0).run_stage("run", work)
    assert errors == []


async def test_a_busy_group_is_retried() -> None:
    answers = [_report(error="busy", retryable=True), _report()]

    async def ingest() -> GroupReport:
        return answers.pop(0)

    executor = PrefectTasks(batch_size=None, retry_delay=0)
    assert await executor.run_group(GroupId("shop"), ingest) == _report()
    assert answers == []


@pytest.mark.full
async def test_a_group_that_stays_busy_is_reported_after_the_last_retry() -> None:
    busy, calls = _report(error="busy", retryable=True), []

    async def ingest() -> GroupReport:
        calls.append(1)
        return busy

    executor = PrefectTasks(batch_size=None, retry_delay=0)
    assert await executor.run_group(GroupId("shop"), ingest) == busy
    assert len(calls) == 5


def test_only_transient_failures_are_retried() -> None:
    errors = [GraphBusy("in use"), GraphUnusable("another embedder"), BadTurn("broken")]
    run: Any = None
    passing = [is_retryable(ingest_group, run, Failed(data=error)) for error in errors]
    assert passing == [True, False, False]


def _report(*, error: str | None = None, retryable: bool = False) -> GroupReport:
    return GroupReport(
        group=GroupId("shop"),
        turns=1,
        already_committed=1,
        error=error,
        exit_code=1 if error else 0,
        retryable=retryable,
    )


@pytest.mark.full
async def test_model_parameters_apply_and_an_exhausted_budget_fails_the_run(
    archives: Path, tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in model_environment(provider).items():
        monkeypatch.setenv(name, value)
    once = {"preprocessing": "Look at the colours only.", "reflexion": 0}
    stopped = await _run(archives, tmp_path / "lake", **once, budget=["1 token"])
    assert stopped.name == "BudgetStopped"
    assert provider.requests == []
    done = await (await _run(archives, tmp_path / "lake", **once, budget="5m tokens")).aresult()
    assert done["committed"] == sum(SAMPLES.values())
    assert done["usage"]["calls"] == len(provider.requests) > 0
    first = [text for _, text in provider.requests[0].messages]
    assert any("Look at the colours only." in text for text in first)
    wrong = await _run(archives, tmp_path / "lake", budget="5 euro")
    assert "`5 euro` is not a budget" in (wrong.message or "")


@pytest.mark.full
async def test_nobody_else_may_read_what_a_run_or_a_library_writes(
    archives: Path, tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in model_environment(provider).items():
        monkeypatch.setenv(name, value)
    lake = tmp_path / "lake"
    provider.hold = threading.Event()
    before = os.umask(0o022)
    try:
        running = asyncio.create_task(_run(archives, lake))
        assert await asyncio.to_thread(provider.arrived.acquire, timeout=60)
        # As Ladybug creates the pages of a checkpoint.
        (lake / "graph.lbug.of-a-library").touch()
        provider.hold.set()
        assert (await running).is_completed()
    finally:
        provider.hold.set()
        os.umask(before)
    modes = {str(path): oct(S_IMODE(path.stat().st_mode)) for path in (lake, *lake.rglob("*"))}
    assert {name for name, mode in modes.items() if mode not in ("0o700", "0o600")} == set()


@pytest.mark.full
async def test_a_search_beside_a_flow_run_answers_from_the_index(
    archives: Path, tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in model_environment(provider, JOURNAL="0").items():
        monkeypatch.setenv(name, value)
    lake = tmp_path / "lake"
    assert (await _run(archives, lake)).is_completed()
    rows = conversation("Refund the order", session="s2", at=datetime(2026, 3, 2, tzinfo=UTC))
    write_archive(archives / "more.jsonl", rows)
    while provider.arrived.acquire(blocking=False):
        pass
    provider.hold = threading.Event()
    try:
        running = asyncio.create_task(_run(archives, lake))
        assert await asyncio.to_thread(provider.arrived.acquire, timeout=60)
        found = await asyncio.to_thread(
            turnetl_process, "search", "heic", "--lake", lake, "--json", folder=tmp_path
        )
    finally:
        provider.hold.set()
    assert (await running).is_completed()
    assert found.exit_code == 0
    assert found.json["hits"]
    assert "another turnetl process" in found.json["unread"]
