"""Work that ends when nobody waits for it any more."""

import asyncio

import pytest
from prefect import State

from flows.dask_tasks import while_wanted

pytestmark = [pytest.mark.prefect, pytest.mark.full]


class EndlessWork:
    """Waits until it is told to end, and remembers that it was cancelled."""

    def __init__(self) -> None:
        self.was_cancelled = False
        self.may_end = asyncio.Event()
        self.has_begun = asyncio.Event()

    async def run(self) -> str:
        self.has_begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return "done"


async def test_work_that_is_wanted_returns_its_result() -> None:
    work = EndlessWork()
    work.may_end.set()
    assert await while_wanted(work.run(), lambda: True) == "done"


async def test_work_that_nobody_wants_any_more_is_cancelled() -> None:
    work = EndlessWork()
    state = await while_wanted(work.run(), lambda: not work.has_begun.is_set())
    assert isinstance(state, State)
    assert state.is_cancelled()
    assert work.was_cancelled


async def test_a_timeout_of_the_work_is_an_error_of_its_own() -> None:
    async def too_long() -> str:
        raise TimeoutError("the provider did not respond")

    with pytest.raises(TimeoutError, match="did not respond"):
        await while_wanted(too_long(), lambda: True)


async def test_a_cancellation_from_outside_cancels_the_work() -> None:
    work = EndlessWork()
    running = asyncio.ensure_future(while_wanted(work.run(), lambda: True))
    await work.has_begun.wait()
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()
    assert work.was_cancelled
