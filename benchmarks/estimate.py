"""Whether the actual usage of runs lies within the ranges that `turnetl plan --pilot` predicts.

    python -m benchmarks.estimate [--seeds 10] [--pilot 20] [--archives FOLDER] [--extractor llm]

Each seed draws another pilot from real turns and predicts the run of all of them into an empty
embedded graph; then the run is made. The provider, a process of its own, responds to the text of
each turn and counts the tokens of what it reads and writes; prices are those of a small model.
Pilot and run together must send as many requests as a run without a pilot.
"""

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import provider
from benchmarks.cost import at_least
from benchmarks.provider import ProviderProcess
from tests import real_archives
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.model import Usage
from turnetl.estimation import run_plan
from turnetl.estimation.workloads import PilotOptions
from turnetl.ingestion.estimate_record import Range
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings

MIN_WITHIN = 9
"""Of ten runs."""


@dataclass(frozen=True)
class Comparison:
    """A predicted and an actual amount."""

    predicted: Range
    actual: float

    def __str__(self) -> str:
        """Return the columns of the table."""
        low, expected = self.predicted.low, self.predicted.expected
        amounts = (low, expected, self.predicted.high or 0.0, self.actual)
        mark = "" if self.is_within else "  outside"
        return " ".join(f"{amount:>12,.4g}" for amount in amounts) + mark

    @property
    def is_within(self) -> bool:
        return self.predicted.holds(self.actual)


def settings_for(lake: Path, running: ProviderProcess, extractor: str) -> Settings:
    return Settings.model_validate(
        {
            "lake": lake,
            "extractor": extractor,
            "llm": {
                "provider": "openai",
                "model": "gpt-4.1-mini",
                "base_url": running.base_url("openai"),
                "api_key": "no-key-is-needed-here",
            },
        }
    )


async def compare(
    tables: Path, running: ProviderProcess, folder: Path, extractor: str, pilot: PilotOptions
) -> tuple[Mapping[str, Comparison], int, int]:
    """Return predicted and actual amounts, the requests of the pilot, and those of both."""
    shutil.copytree(tables, folder)
    settings, options = settings_for(folder, running, extractor), RunOptions()
    running.reset()
    report = await run_plan.plan(settings, options, now, pilot=pilot)
    of_pilot = running.counts().total
    ingested = await pipeline.ingest(settings, options, now)
    assert not any(group.error for group in ingested.groups)
    used, estimate = _usage(ingested), report.estimate
    assert estimate.total.cost is not None
    assert used.cost is not None
    amounts = {
        "requests": Comparison(estimate.total.requests, used.calls),
        "tokens": Comparison(estimate.total.tokens, used.tokens),
        "cost": Comparison(estimate.total.cost, used.cost),
    }
    return amounts, of_pilot, running.counts().total


async def whole(tables: Path, running: ProviderProcess, folder: Path, extractor: str) -> int:
    """Return the requests of a run without a pilot."""
    shutil.copytree(tables, folder)
    running.reset()
    await pipeline.ingest(settings_for(folder, running, extractor), RunOptions(), now)
    return running.counts().total


def _usage(report: IngestReport) -> Usage:
    return sum(report.usage_by_prompt.values(), Usage())


async def main(seeds: int, pilot: int, archives: Path, extractor: str) -> bool:
    within: dict[str, int] = {}
    repeated = 0
    with (
        tempfile.TemporaryDirectory() as name,
        provider.running(responders="benchmarks.responders") as running,
    ):
        folder = Path(name)
        tables = settings_for(folder / "tables", running, extractor)
        parsed = pipeline.parse_archives([str(archives)], tables)
        pipeline.filter_turns(tables)
        alone = await whole(folder / "tables", running, folder / "whole", extractor)
        print(f"{len(parsed.groups)} groups, {alone} requests without a pilot")
        print(f"{'seed':>4} {'what':>8} {'low':>12} {'expected':>12} {'high':>12} {'actual':>12}")
        for seed in range(seeds):
            amounts, of_pilot, both = await compare(
                folder / "tables",
                running,
                folder / f"seed{seed}",
                extractor,
                PilotOptions(pilot, seed),
            )
            repeated += both - alone
            for what, one in amounts.items():
                within[what] = within.get(what, 0) + one.is_within
                print(f"{seed:>4} {what:>8} {one}", flush=True)
            print(f"     the pilot sent {of_pilot} requests; pilot and run {both}", flush=True)
    passed = repeated == 0
    print(f"  {repeated:8} requests that pilot and run sent more than a run alone (must be 0)")
    for what, count in within.items():
        passed &= at_least(f"of 10 runs within the range: {what}", 10 * count / seeds, MIN_WITHIN)
    return passed


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pilot", type=int, default=20)
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    parser.add_argument("--extractor", default="llm")
    given = parser.parse_args()
    sys.exit(not asyncio.run(main(given.seeds, given.pilot, given.archives, given.extractor)))
