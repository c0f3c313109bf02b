"""A budget completes turns: which ones start, in which order, and what is left at the end."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.simulated_model import MODEL, PRICES
from tests.fakes.simulated_runs import group_turns, run_groups
from turnetl.base.errors import RunStopped
from turnetl.base.model import Usage
from turnetl.ingestion.admission import TurnAdmission
from turnetl.llm.budget import Budget
from turnetl.llm.costs import Amount
from turnetl.llm.meter import Meter

SEEDS = range(2)


def usage(tokens: int) -> Usage:
    return Usage(calls=1, prompt_tokens=tokens, cost=0.0)


def limited(tokens: int) -> tuple[TurnAdmission, Meter]:
    meter = Meter(PRICES)
    return TurnAdmission(Budget(tokens, None, meter, PRICES)), meter


async def after_commits(tokens: int, budget: int, turns: int = 4) -> tuple[TurnAdmission, Meter]:
    """Return the admission of a run that committed some turns of the same cost."""
    admission, meter = limited(budget)
    for _ in range(turns):
        turn = await admission.start(0)
        with turn:
            meter.add(MODEL, usage(tokens))
            turn.account.charge(Amount(tokens), Amount(tokens))
            turn.commit(usage(tokens))
    return admission, meter


async def test_without_a_budget_every_turn_starts() -> None:
    admission = TurnAdmission()
    turns = [await admission.start(1_000), *(admission.try_start(1_000) for _ in range(20))]
    assert None not in turns


async def test_before_the_first_commit_one_turn_runs_in_all_groups() -> None:
    admission, _ = limited(1_000_000)
    first = await admission.start(1_000)
    assert admission.try_start(1_000) is None
    second = asyncio.create_task(admission.start(1_000))
    await asyncio.sleep(0)
    assert not second.done()
    first.finish()
    assert (await second).chars == 1_000


async def test_turns_start_ahead_only_as_far_as_the_budget_carries_them() -> None:
    admission, _ = await after_commits(1_000, budget=10_000)
    started = [await admission.start(0), *(admission.try_start(0) for _ in range(9))]
    count = sum(turn is not None for turn in started)
    assert 3 <= count <= 5, "6,000 tokens are left for turns of 1,000, with a margin"


async def test_waiting_groups_start_in_the_order_in_which_they_asked() -> None:
    admission, _ = limited(1_000_000)
    first = await admission.start(1_000)
    order: list[int] = []

    async def wait(number: int) -> None:
        with await admission.start(1_000):
            order.append(number)
            await asyncio.sleep(0)

    waiting = [asyncio.create_task(wait(number)) for number in range(5)]
    await asyncio.sleep(0)
    waiting[2].cancel()
    await asyncio.sleep(0)
    first.finish()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert order == [0, 1, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
async def test_cancelled_turns_never_keep_others_from_starting(
    plan: list[tuple[int, bool]],
) -> None:
    admission, _ = limited(1_000_000)

    async def run(pauses: int) -> None:
        with await admission.start(1_000):
            for _ in range(pauses):
                await asyncio.sleep(0)

    tasks = [asyncio.create_task(run(pauses)) for pauses, _ in plan]
    for (pauses, is_cancelled), task in zip(plan, tasks, strict=True):
        for _ in range(pauses):
            await asyncio.sleep(0)
        if is_cancelled:
            task.cancel()
    async with asyncio.timeout(60):
        await asyncio.gather(*tasks, return_exceptions=True)
        with await admission.start(1_000):
            pass


async def test_a_turn_that_the_rest_does_not_cover_pays_for_no_request() -> None:
    admission, _ = await after_commits(1_000, budget=4_500)
    turn = await admission.start(0)
    with pytest.raises(RunStopped, match="too small for another turn: 4,000 of 4,500 tokens"):
        turn.account.request(Amount(450)).__enter__()


async def test_a_tenth_of_what_was_paid_may_prepare_the_next_turn() -> None:
    admission, _ = await after_commits(1_000, budget=4_500)
    turn = await admission.start(0)
    with turn.account.request(Amount(300)), pytest.raises(RunStopped):
        turn.account.request(Amount(300)).__enter__()


async def test_nothing_is_prepared_if_no_journal_keeps_it_for_the_next_run() -> None:
    meter = Meter(PRICES)
    admission = TurnAdmission(Budget(4_500, None, meter, PRICES), prepares=False)
    for _ in range(4):
        with await admission.start(0) as turn, turn.account.request(Amount(1)):
            meter.add(MODEL, usage(1_000))
            turn.account.charge(Amount(1_000), Amount(1_000))
            turn.commit(usage(1_000))
    with await admission.start(0) as turn, pytest.raises(RunStopped):
        turn.account.request(Amount(1)).__enter__()


async def test_a_budget_smaller_than_any_turn_still_brings_the_run_forward() -> None:
    admission, _ = limited(500)
    admission.costs.learn_earlier([usage(1_000)])
    turn = await admission.start(0)
    with turn.account.request(Amount(300)):
        pass


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("prefetch", [1, 16])
@pytest.mark.parametrize("groups", [1, 3])
async def test_a_budget_is_used_for_committed_turns_and_never_exceeded(
    tmp_path: Path, groups: int, prefetch: int, seed: int
) -> None:
    turns = [group_turns(seed, group, 24 // groups) for group in range(groups)]
    for name in ("whole", "limited"):
        (tmp_path / name).mkdir()
    whole = await run_groups(turns, tmp_path / "whole")
    budget = whole.used / whole.turns * 12
    async with asyncio.timeout(120):
        run = await run_groups(turns, tmp_path / "limited", usd=budget, prefetch=prefetch)
    assert 0.85 * budget <= run.used <= budget
    assert run.paid_for_committed >= 0.9 * run.used
    assert all("the budget is too small" in error for error in run.errors)
    assert run.errors
    for group, committed in run.committed.items():
        assert committed == whole.committed[group][: len(committed)]


@pytest.mark.full
async def test_the_next_run_pays_for_nothing_twice(tmp_path: Path) -> None:
    turns = [group_turns(1, group, 4) for group in range(2)]
    for name in ("whole", "limited"):
        (tmp_path / name).mkdir()
    whole = await run_groups(turns, tmp_path / "whole")
    used, runs = 0.0, 0
    while runs < 20:
        run = await run_groups(turns, tmp_path / "limited", usd=whole.used / 2.5)
        used, runs = used + run.used, runs + 1
        if not run.errors:
            break
    assert run.turns == whole.turns
    assert used == pytest.approx(whole.used, rel=0.1), "but for interrupted requests"


@pytest.mark.full
async def test_the_expected_cost_of_the_plan_is_that_of_the_run(tmp_path: Path) -> None:
    run = await run_groups([group_turns(3, 0, 20)], tmp_path, usd=0.08)
    (tmp_path / "whole").mkdir()
    whole = await run_groups([group_turns(3, 0, 20)], tmp_path / "whole")
    assert run.expected == pytest.approx(whole.used, rel=0.25)
