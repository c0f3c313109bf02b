"""How much of a budget is used, and how much of that is for committed turns.

    python -m benchmarks.budget [--seeds 4] [--turns 5 6.5 8 12 25]

Each run has a simulated model with the prices and the lengths of a small one, a real journal and a
real embedded graph. A budget is worth a number of average turns; there are twice as many. `without`
is the same run without the admission of turns: extraction runs ahead up to `prefetch`.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cost import at_least
from tests.fakes.simulated_runs import SimulatedRun, group_turns, run_groups

GROUPS = (1, 3)
PREFETCH = 16
MIN_USED, MIN_COMMITTED = 85, 90
"""Percent of the budget, and percent of what was paid; both of the mean over all runs."""


async def measure(seed: int, worth: float, groups: int, folder: Path) -> list[tuple[float, ...]]:
    """Return budget, used %, committed % and turns of a run with and one without admission."""
    turns = [group_turns(seed, group, max(round(2 * worth / groups), 4)) for group in range(groups)]
    for name in ("whole", "with", "without"):
        (folder / name).mkdir()
    whole = await run_groups(turns, folder / "whole")
    usd = whole.used / whole.turns * worth
    after = await run_groups(turns, folder / "with", usd=usd, prefetch=PREFETCH)
    before = await run_groups(
        turns, folder / "without", usd=usd, prefetch=PREFETCH, is_admission_shared=False
    )
    return [_percentages(run, usd) for run in (after, before)]


def _percentages(run: SimulatedRun, usd: float) -> tuple[float, ...]:
    assert run.used <= usd, "the budget was exceeded"
    committed = 100 * run.paid_for_committed / run.used if run.used else 0.0
    return usd, 100 * run.used / usd, committed, run.turns


def _mean(rows: Sequence[tuple[float, ...]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


async def main(seeds: int, budgets: Sequence[float]) -> bool:
    print(
        f"{'worth':>6} {'groups':>6} {'budget':>8} {'used %':>7} {'least':>6} "
        f"{'for committed %':>15} {'least':>6} {'turns':>6} | without: used %, committed %, turns"
    )
    measured = []
    for worth in budgets:
        for groups in GROUPS:
            results = []
            for seed in range(seeds):
                with tempfile.TemporaryDirectory() as folder:
                    results.append(await measure(seed, worth, groups, Path(folder)))
            after, before = ([pair[at] for pair in results] for at in (0, 1))
            measured += after
            usd, used, committed, turns = _mean(after)
            least = [min(column) for column in zip(*after, strict=True)]
            _, used_before, committed_before, turns_before = _mean(before)
            print(
                f"{worth:>6g} {groups:>6} {usd:>8.4f} {used:>7.1f} {least[1]:>6.1f} "
                f"{committed:>15.1f} {least[2]:>6.1f} {turns:>6.1f} | "
                f"{used_before:.1f}, {committed_before:.1f}, {turns_before:.1f}",
                flush=True,
            )
    _, used, committed, _ = _mean(measured)
    both = sum(row[1] >= MIN_USED and row[2] >= MIN_COMMITTED for row in measured)
    print(f"{both} of {len(measured)} runs reach both; no run exceeded its budget")
    passed = at_least("% of the budget used, mean", used, MIN_USED)
    return at_least("% of that for committed turns, mean", committed, MIN_COMMITTED) and passed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--turns", type=float, nargs="*", default=[5, 6.5, 8, 12, 25])
    arguments = parser.parse_args()
    sys.exit(not asyncio.run(main(arguments.seeds, arguments.turns)))
