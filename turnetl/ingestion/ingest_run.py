"""A run that writes groups: its identity and limits, and the progress of an ingest in one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from turnetl.extraction.port import DiscardReason
from turnetl.ingestion.ingest_report import Invalidation
from turnetl.summaries.reasons import GateReason

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
    """Facts that a turn may invalidate; a turn that invalidates more is logged and reported."""
    extractor_named: bool = False
    """Whether the user named the extractor, which may then continue a group of another one."""
    on_lease: Callable[[], Awaitable[None]] = _ignore_lease
    """Called with each lease of the run, before anything is done."""

    @property
    def pauses(self) -> tuple[float, ...]:
        """Return the seconds before each retry of a write without a response."""
        return tuple(self.retry_delay * 2**retry for retry in range(_RETRIES))


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """Progress of a run in one group."""

    committed: int
    quarantined: int
    already_committed: int = 0
    """Another run committed them after this run was planned."""
    discarded: Mapping[DiscardReason, int] = field(default_factory=dict)
    """Extracted entities and facts that were discarded, by reason."""
    invalidations: tuple[Invalidation, ...] = ()
    """Turns that invalidated unusually many facts."""
    summaries: Mapping[GateReason, int] = field(default_factory=dict)
    """Decisions about summaries, by reason."""

    @property
    def turns(self) -> int:
        return self.committed + self.quarantined + self.already_committed
