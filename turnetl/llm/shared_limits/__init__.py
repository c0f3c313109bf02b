"""Limits that several processes share, on one machine or on many.

A process takes a block of requests and tokens for a few seconds, and slots for requests in flight,
and starts requests within it without asking anybody. Every exchange returns what is left of the
last block, so that no process keeps what it does not use.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress

from turnetl.base.errors import ModelUnusable, TurnetlError
from turnetl.llm.limiter import BURST, WINDOW, Admission, AdmissionLimits, ProviderLimits, Slots
from turnetl.llm.shared_limits.allocation import Block, Demand, Grant, Report, Rules, exchange
from turnetl.llm.shared_limits.store import (
    LimitsStore,
    MemoryLimits,
    UnknownState,
    decode_state,
    encode_state,
)

log = logging.getLogger(__name__)

_RENEW_SECONDS = 1.0
"""Seconds between the exchanges of a process that has what it needs."""
_EARLY_SECONDS = 0.001
"""An exchange may be that early: a timer is not more exact."""


class SharedLimits:
    """`AdmissionLimits` that hold for all processes with the same state.

    A task exchanges blocks with the state while requests are sent, and ends when there are none.
    """

    def __init__(
        self,
        store: LimitsStore,
        name: str,
        limits: ProviderLimits,
        *,
        owner: str,
        request_seconds: float,
        is_dead: Callable[[str], bool] = lambda _: False,
        window: float = WINDOW,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Touch nothing before the first request.

        Args:
            limits: of this process. If those of another one are lower, they hold for all.
            request_seconds: a request is in flight for this time at most.
            is_dead: called with the owner of another process; True if it is known to have ended.
            window: seconds for which a request counts.
        """
        self._store = store
        self._name = name
        self._limits = limits
        self._owner = owner
        self._request_seconds = request_seconds
        self._rules = Rules(window, BURST, is_dead)
        self._clock = clock
        self._demand = Demand()
        self._block = Block(clock)
        self._has_warned = False
        self._is_closing = False
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._change: asyncio.Future[None] | None = None
        """Done as soon as a request that waits may be sent, perhaps."""

    async def acquire(self, characters: int, waiting: Callable[[], int]) -> None:
        with self._demand.head(characters, waiting):
            while not self._may_start():
                await self._next_change()
        self._demand.hold()

    def start(self, characters: int) -> Admission:
        tokens = self._demand.start(characters)
        return Admission(self._block.take(tokens), characters, tokens)

    def release(self) -> None:
        self._demand.release()
        if self._is_over():
            # The slot is another's: its process may wait for it.
            self._wake.set()
        self._notify()

    def settle(self, admission: Admission, tokens: int) -> None:
        if tokens:
            self._block.add_usage(admission.at, 0, tokens - math.ceil(admission.tokens))
            self._demand.learn(admission.characters, tokens)
            admission.tokens = tokens

    async def close(self) -> None:
        self._is_closing = True
        self._wake.set()
        if self._task is not None:
            # What cannot be returned expires.
            with suppress(TurnetlError):
                await self._task
        await self._store.close()

    def _may_start(self) -> bool:
        return (
            self._block.allows(self._demand.head_tokens)
            and self._demand.in_flight < self._block.slots
        )

    def _is_over(self) -> bool:
        """Return whether a slot that is released is not for this process."""
        return self._block.grant is not None and self._demand.in_flight >= self._block.slots

    async def _next_change(self) -> None:
        """Wait until more requests may be sent; raises what the store raises."""
        self._change = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._ended)
        self._wake.set()
        await self._change

    def _notify(self, error: BaseException | None = None) -> None:
        if self._change is None or self._change.done():
            return
        if error is None:
            self._change.set_result(None)
        else:
            self._change.set_exception(error)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._notify(None if task.cancelled() else task.exception())

    async def _run(self) -> None:
        while True:
            is_last = self._is_closing or self._demand.is_idle
            await self._exchange(is_leaving=is_last and not self._demand.in_flight)
            self._notify()
            if is_last and not self._demand.is_waiting:
                return
            await self._until_due()

    async def _until_due(self) -> None:
        while not self._is_closing:
            self._wake.clear()
            seconds = self._due_at() - self._clock()
            if seconds < _EARLY_SECONDS:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), seconds)

    def _due_at(self) -> float:
        last, grant, demand = self._block.granted_at, self._block.grant, self._demand
        if grant is None or (demand.reported_in_flight > demand.in_flight and self._is_over()):
            return last
        if not demand.is_waiting or self._may_start():
            return last + _RENEW_SECONDS
        is_used = not self._block.allows(demand.head_tokens)
        return last if is_used and grant.is_met else last + grant.pause

    async def _exchange(self, *, is_leaving: bool) -> None:
        """Report, return the block and take another. If the store fails, nothing may be sent."""
        report = self._report(is_leaving=is_leaving)
        exchanged: list[tuple[Grant, float]] = []

        def change(content: bytes | None, store_time: float) -> bytes:
            state, at = decode_state(content), self._clock()
            now = max(state.time, store_time if self._block.is_new else self._block.time(at))
            exchanged.append((exchange(state, report, now, self._rules), at))
            return encode_state(state)

        try:
            await self._store.update(self._name, change)
        except UnknownState as error:
            raise ModelUnusable(
                f"the state of the shared limits `{self._name}` in {self._store.place} {error}: "
                "end all runs that use it, move it away, and use the same turnetl everywhere"
            ) from error
        self._block.replace(*exchanged[-1])
        self._demand.exchanged(report)
        self._warn(exchanged[-1][0].limits)

    def _report(self, *, is_leaving: bool) -> Report:
        batch, usage = self._block.give_back()
        demand = self._demand
        return Report(
            owner=self._owner,
            batch=batch,
            limits=self._limits,
            usage=usage,
            in_flight=demand.in_flight,
            slots=demand.slots,
            waiting=demand.waiting,
            expected=demand.expected,
            head_tokens=demand.head_tokens,
            mean_tokens=demand.mean_tokens,
            request_seconds=self._request_seconds,
            leaving=is_leaving,
        )

    def _warn(self, limits: ProviderLimits) -> None:
        if limits == self._limits or self._has_warned:
            return
        self._has_warned = True
        log.warning(
            "another process with the shared limits `%s` has lower ones, which hold for all: %s; "
            "set the same limits everywhere, or another llm.shared_limits",
            self._name,
            _differences(self._limits, limits),
        )


def own_limits(
    limits: ProviderLimits,
    *,
    request_seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> AdmissionLimits:
    """Return limits that no other process shares; arguments as of `SharedLimits`."""
    if limits.requests_per_minute is None and limits.tokens_per_minute is None:
        return Slots(limits.concurrency)
    store = MemoryLimits(clock)
    return SharedLimits(
        store, "own", limits, owner="own", request_seconds=request_seconds, clock=clock
    )


def _differences(own: ProviderLimits, lowest: ProviderLimits) -> str:
    """Return the limits that differ: `llm.concurrency 4 instead of 8`."""
    names = ("requests_per_minute", "tokens_per_minute", "concurrency")
    pairs = [(name, getattr(own, name), getattr(lowest, name)) for name in names]
    return ", ".join(
        f"llm.{name} {low} instead of {'none' if high is None else high}"
        for name, high, low in pairs
        if high != low
    )
