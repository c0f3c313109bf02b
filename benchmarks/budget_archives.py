"""How much of a budget real turns use, and how much of that is for committed turns.

    python -m benchmarks.budget_archives [--archives FOLDER] [--turns 5 8 15 40] [--groups 1 4]

The turns of real archives, all of them in one lake, are ingested by the `llm` extractor into an
empty embedded graph, once without a budget. Then each budget is worth a number of the average turns
of that run, with some number of groups at the same time. The provider is that of
`benchmarks.estimate`; prices are those of a small model. What a run paid is that of its requests;
what was paid for committed turns is the sum of their receipts.
"""

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import provider
from benchmarks.cost import at_least, at_most
from benchmarks.estimate import settings_for
from benchmarks.provider import ProviderProcess
from tests import real_archives
from turnetl import pipeline, wiring
from turnetl.base.clock import now
from turnetl.llm.meter import EMBEDDINGS
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings

MIN_USED, MIN_COMMITTED = 85, 90
"""Percent of a budget, and percent of what was paid; both of the mean over all runs."""


@dataclass(frozen=True)
class Spent:
    """What a run paid, in US dollars."""

    paid: float
    for_committed: float
    turns: int


async def ingest(settings: Settings) -> Spent:
    """Ingest the turns of a lake into its empty graph."""
    report = await pipeline.ingest(settings, RunOptions(), now)
    paid = sum(
        usage.cost or 0.0
        for prompt, usage in report.usage_by_prompt.items()
        if prompt != EMBEDDINGS
    )
    async with wiring.store(settings, write=False) as store:
        receipts = [one for group in await store.groups() for one in await store.receipts(group)]
    return Spent(paid, sum(one.usage.cost or 0.0 for one in receipts), len(receipts))


async def measure(
    tables: Path, running: ProviderProcess, folder: Path, usd: float, groups: int
) -> Spent:
    shutil.copytree(tables, folder)
    settings = settings_for(folder, running, "llm")
    limited = settings.model_copy(
        update={
            "budget": settings.budget.model_copy(update={"usd": usd}),
            "group_concurrency": groups,
        }
    )
    return await ingest(limited)


async def main(archives: Path, budgets: Sequence[float], groups: Sequence[int]) -> bool:
    with (
        tempfile.TemporaryDirectory() as name,
        provider.running(responders="benchmarks.responders") as running,
    ):
        folder = Path(name)
        tables = settings_for(folder / "tables", running, "llm")
        pipeline.parse_archives([str(archives)], tables)
        pipeline.filter_turns(tables)
        shutil.copytree(folder / "tables", folder / "whole")
        whole = await ingest(settings_for(folder / "whole", running, "llm"))
        average = whole.paid / whole.turns
        print(f"{whole.turns} turns, ${average:.5f} per turn")
        print(
            f"{'worth':>6} {'groups':>6} {'budget':>9} {'used %':>7} {'for committed %':>15} turns"
        )
        used, committed, most = list[float](), list[float](), 0.0
        for worth in budgets:
            for at_once in groups:
                usd = worth * average
                run_folder = folder / f"{worth}-{at_once}"
                spent = await measure(folder / "tables", running, run_folder, usd, at_once)
                used.append(100 * spent.paid / usd)
                committed.append(100 * spent.for_committed / spent.paid if spent.paid else 0.0)
                most = max(most, used[-1])
                print(
                    f"{worth:>6g} {at_once:>6} {usd:>9.5f} {used[-1]:>7.1f} {committed[-1]:>11.1f} "
                    f"{spent.turns}",
                    flush=True,
                )
    passed = at_least("turns", whole.turns, 100)
    passed &= at_most("% of a budget, most", most, 100)
    passed &= at_least("% of a budget used, mean", sum(used) / len(used), MIN_USED)
    mean = sum(committed) / len(committed)
    return at_least("% of that for committed turns, mean", mean, MIN_COMMITTED) and passed


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    parser.add_argument("--turns", type=float, nargs="*", default=[5, 8, 15, 40])
    parser.add_argument("--groups", type=int, nargs="*", default=[1, 4])
    given = parser.parse_args()
    sys.exit(not asyncio.run(main(given.archives, given.turns, given.groups)))
