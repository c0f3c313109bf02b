"""A run that writes groups: its identity, its limits, its progress in a group, and its record."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from turnetl.base.errors import GraphBusy, TurnetlError
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import RunOutcome, RunTotals, TurnRun
from turnetl.base.model import Usage
from turnetl.base.repeat import repeat_until
from turnetl.extraction.port import DiscardReason
from turnetl.graph.port import TurnStore
from turnetl.ingestion.ingest_report import IngestReport, Invalidation
from turnetl.summaries.reasons import GateReason, reason_texts

T = TypeVar("T")

_RETRIES = 3


async def _ignore_lease() -> None:
    """Record nothing."""


@dataclass(frozen=True, slots=True)
class IngestRun:
    """The identity of a run, its clock and its limits."""

    run_id: str
    owner: str
    """Owner of the leases, from `held_lease.owner_name`."""
    clock: Callable[[], datetime]
    lease_ttl: timedelta
    """Lifetime of a lease without renewal."""
    prefetch: int = 0
    """Turns whose extraction may run ahead of the commit."""
    run_ahead: int = 0
    """Turns that may also be resolved ahead of the commit, with guessed responses."""
    retry_delay: float = 0.5
    """Seconds before the first retry of a write without a response; doubled with each retry."""
    invalidation_alert: int = 10
    """Facts that a turn may invalidate; one that invalidates more is logged and reported. A model
    does not: its extractor holds them back."""
    extractor_named: bool = False
    """Whether the user named the extractor, which may then continue a group of another one."""
    on_lease: Callable[[], Awaitable[None]] = _ignore_lease
    """Called with each lease of the run, before anything is done."""

    async def repeat(
        self,
        write: Callable[[], Awaitable[T]],
        on_busy: Callable[[Exception], None] = lambda _: None,
    ) -> T:
        """Return the result of a write to the graph, which is retried if there is no response.

        Raises:
            GraphBusy: the graph did not respond to any attempt.
        """
        delays = [self.retry_delay * 2**retry for retry in range(_RETRIES)]
        return await repeat_until(write, delays, busy=GraphBusy, on_busy=on_busy)


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """Progress of a run in one group."""

    committed: int
    quarantined: int
    already_committed: int = 0
    """Another run committed them after this run was planned."""
    discarded: Mapping[DiscardReason, int] = field(default_factory=dict)
    invalidations: tuple[Invalidation, ...] = ()
    summaries: Mapping[GateReason, int] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        return self.committed + self.quarantined + self.already_committed


log = logging.getLogger(__name__)

_NOTHING = RunTotals(0, 0, 0, 0, Usage())


@dataclass(eq=False)
class RunRecorder:
    """Writes the TurnRun of one run. A run that takes no lease writes nothing."""

    store: TurnStore
    describe: Callable[[], TurnRun]
    """Returns the run as it starts; called once, by the first lease."""
    clock: Callable[[], datetime]
    usage: Callable[[], Usage]
    """Returns what all requests of the run have used so far."""

    def __post_init__(self) -> None:
        self._run: TurnRun | None = None
        self._lock = asyncio.Lock()

    async def started(self) -> None:
        """Write the run, if this is its first lease; after an error the next call tries again."""
        async with self._lock:
            if self._run is None:
                run = self.describe()
                await self.store.save_run(run)
                self._run = run

    async def ended(self, report: IngestReport) -> None:
        """Write how the run ended. Failures are logged: the report of the run is worth more."""
        run_id = self._run.run_id if self._run else None
        entries = (entry for group in report.groups for entry in group.quarantined_turns)
        await self._end(
            _outcome(report),
            error=next((group.error for group in report.groups if group.error), report.error),
            quarantined=sum(entry.run_id == run_id for entry in entries),
            discarded=sum(sum((group.discarded or {}).values()) for group in report.groups),
            summaries=sum((Counter(group.summaries or {}) for group in report.groups), Counter()),
        )

    async def interrupted(self) -> None:
        await self._end(RunOutcome.INTERRUPTED)

    async def failed(self, error: Exception) -> None:
        await self._end(RunOutcome.FAILED, error=str(error))

    async def _end(
        self,
        outcome: RunOutcome,
        *,
        error: str | None = None,
        quarantined: int = 0,
        discarded: int = 0,
        summaries: Mapping[GateReason, int] | None = None,
    ) -> None:
        if self._run is None:
            return
        try:
            totals = (await self.store.run_totals()).get(self._run.run_id, _NOTHING)
            ended = replace(
                with_totals(self._run, totals),
                ended_at=self.clock(),
                outcome=outcome,
                error=error,
                quarantined=quarantined,
                discarded=discarded,
                summary_reasons=reason_texts(summaries or {}),
                usage=self.usage(),
            )
            await self.store.save_run(ended)
        except TurnetlError as failure:
            log.warning("the end of the run was not recorded", extra={"error": str(failure)})


def with_totals(run: TurnRun, totals: RunTotals | None) -> TurnRun:
    sums = totals or _NOTHING
    return replace(
        run,
        committed=sums.committed,
        entities_new=sums.entities_new,
        facts_new=sums.facts_new,
        facts_invalidated=sums.facts_invalidated,
        usage=sums.usage,
    )


def _outcome(report: IngestReport) -> RunOutcome:
    codes = {report.exit_code, *(group.exit_code for group in report.groups)} - {ExitCode.DONE}
    if not codes:
        return RunOutcome.DONE
    return RunOutcome.STOPPED if codes == {ExitCode.STOPPED} else RunOutcome.FAILED
