"""Ranges of pilots, compared with the run of the same turns: real pipeline, real HTTP."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.estimation.varied_turns import write_turns
from tests.servers.provider import KEY, FakeProvider
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.model import Usage
from turnetl.base.progress import ProgressUpdate
from turnetl.estimation import run_plan
from turnetl.estimation.workloads import PilotOptions
from turnetl.ingestion.estimate_record import Range
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings

TURNS, PILOT, SEEDS = 40, 16, 10


def settings_of(lake: Path, provider: FakeProvider) -> Settings:
    llm = {
        "provider": "openai",
        "model": "gpt-4.1-mini",
        "base_url": provider.base_url("openai"),
        "api_key": KEY,
    }
    return Settings.model_validate({"lake": lake, "llm": llm})


@pytest.mark.full
async def test_the_actual_usage_lies_within_the_range_of_nine_of_ten_pilots(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.counts_text = True
    tables = settings_of(tmp_path / "tables", provider)
    pipeline.parse_archives([str(write_turns(tmp_path / "a.jsonl", TURNS))], tables)
    pipeline.filter_turns(tables)
    used = await usage_of_a_run(tables, provider, tmp_path / "whole")
    within = dict.fromkeys(("requests", "tokens", "cost"), 0)
    for seed in range(SEEDS):
        settings = settings_of(tmp_path / f"seed{seed}", provider)
        shutil.copytree(tables.lake, settings.lake)
        report = await run_plan.plan(settings, RunOptions(), now, pilot=PilotOptions(PILOT, seed))
        estimate = report.estimate
        assert estimate.pilot is not None
        assert estimate.total.cost is not None
        ranges = {
            "requests": estimate.total.requests,
            "tokens": estimate.total.tokens,
            "cost": estimate.total.cost,
        }
        # The run sends what a run alone sends, without what the pilot has sent.
        assert all(is_narrow(one) for one in ranges.values())
        for name, actual in difference(used, estimate.pilot.usage).items():
            within[name] += ranges[name].holds(actual)
    assert min(within.values()) >= 9


async def usage_of_a_run(tables: Settings, provider: FakeProvider, lake: Path) -> Usage:
    shutil.copytree(tables.lake, lake)
    report = await pipeline.ingest(settings_of(lake, provider), RunOptions(), now)
    assert report.committed == TURNS
    return sum(report.usage_by_prompt.values(), Usage())


def is_narrow(amount: Range) -> bool:
    """Return whether the range says something: it would otherwise hold any amount."""
    assert amount.high is not None
    return amount.high - amount.low <= 1.2 * amount.expected


def difference(whole: Usage, pilot: Usage) -> Mapping[str, float]:
    assert whole.cost is not None
    assert pilot.cost is not None
    return {
        "requests": whole.calls - pilot.calls,
        "tokens": whole.tokens - pilot.tokens,
        "cost": whole.cost - pilot.cost,
    }


@pytest.mark.full
async def test_a_pilot_reports_its_progress_with_its_cost(
    provider: FakeProvider, tmp_path: Path
) -> None:
    archive = write_turns(tmp_path / "a.jsonl", 12)
    settings, steps = settings_of(tmp_path / "lake", provider), list[ProgressUpdate]()
    await run_plan.plan(
        settings,
        RunOptions(),
        now,
        archives=[str(archive)],
        pilot=PilotOptions(8),
        progress=steps.append,
    )
    of_pilot = [step for step in steps if step.stage == "pilot"]
    assert [step.done for step in of_pilot] == list(range(1, 9))
    assert {step.total for step in of_pilot} == {8}
    last = of_pilot[-1].cost
    assert last is not None
    assert last.usd
