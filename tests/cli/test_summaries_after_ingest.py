"""Deferred summaries that are written after an ingest, with what it left of the budget."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import turnetl
from tests.cli.command import run_in_process
from tests.cli.provider_setup import model_environment
from tests.cli.summarize_runs import UNFLUSHED, contents, embedded, summaries, write_long_session
from tests.servers.provider import KEY, FakeProvider, serving
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.model import GroupId, Usage
from turnetl.ingestion.ingest_report import GroupReport, IngestReport, StopCause
from turnetl.ingestion.summarize_report import SummarizeReport
from turnetl.settings import BudgetSettings, ModelSettings

SHOP = GroupReport(GroupId("shop"), turns=17, already_committed=17)
BUDGET = 50_000
"""Tokens; the only request that is left needs a tenth of them."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph that has a deferred summary; it is only copied."""
    folder = tmp_path_factory.mktemp("filled")
    archive = write_long_session(folder / "a.jsonl", SHOP.turns)
    with serving() as provider:
        environment = model_environment(provider) | UNFLUSHED
        done = run_in_process("backfill", archive, folder=folder, **environment)
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def settings(filled: Path, provider: FakeProvider, tmp_path: Path) -> turnetl.Settings:
    """Return the settings of a graph with a deferred summary that needs a request."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    model = ModelSettings.model_validate(
        {
            "provider": "openai-compatible",
            "base_url": provider.base_url("openai-compatible"),
            "model": "canned",
            "api_key": KEY,
        }
    )
    lake = tmp_path / ".turnetl" / "lake"
    return turnetl.Settings(lake=lake, llm=model, budget=BudgetSettings(tokens=BUDGET))


def summarize(ingested: IngestReport, settings: turnetl.Settings) -> SummarizeReport:
    return asyncio.run(pipeline.summarize_after(ingested, settings, now))


def report(*groups: GroupReport, used: int = 0, error: str | None = None) -> IngestReport:
    usage: Mapping[str, Usage] = {"extract_nodes.extract_text": Usage(1, used, 0)}
    return IngestReport("run", groups, error=error, usage_by_prompt=usage)


@pytest.mark.full
def test_they_are_written_within_what_the_ingest_left_of_the_budget(
    settings: turnetl.Settings, provider: FakeProvider, tmp_path: Path
) -> None:
    stopped = summarize(report(SHOP, used=BUDGET - 500), settings)
    [group] = stopped.groups
    assert "budget" in (group.error or "")
    assert provider.requests == []
    done = summarize(report(SHOP, used=1_000), settings)
    assert done.written == done.to_write > 0
    assert len(provider.requests_for("entity_summaries")) == len(provider.requests) == 1
    texts = summaries(contents(embedded(tmp_path))).values()
    assert any(text.startswith("sqlite (") for text in texts)


def test_nothing_is_tried_after_an_ingest_that_could_not_go_on(
    subtests: pytest.Subtests, settings: turnetl.Settings, provider: FakeProvider
) -> None:
    refused = GroupReport(GroupId("other"), turns=1, stop_cause=StopCause.PROVIDER)
    for reason, ingested in {
        "no group": report(),
        "no budget": report(SHOP, used=BUDGET),
        "failed": report(SHOP, error="the graph does not respond"),
        "held": report(replace(SHOP, error="the group is held")),
        "empty": report(replace(SHOP, already_committed=0)),
        "refused": report(SHOP, refused),
    }.items():
        with subtests.test(reason):
            assert summarize(ingested, settings).groups == ()
    assert provider.requests == []
