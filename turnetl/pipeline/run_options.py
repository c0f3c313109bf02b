"""The options of one run: which groups and turns it selects, and how they are extracted."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from turnetl.base.clock import Clock, as_utc
from turnetl.base.errors import BadUsage
from turnetl.base.shard import Shard
from turnetl.extraction.config import MAX_REFLEXION, NO_PROMPT_VALUES, ExtractionConfig
from turnetl.ingestion import held_lease
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import AssumedTime, Scope
from turnetl.settings import Settings

_REQUESTS_A_MINUTE = 10
"""For each turn that is resolved ahead. With fewer, requests wait for the limit and not for
responses: a turn ahead would only take the place of the one that commits."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of one run: selected turns and extraction. Everything else is in the settings.

    Raises:
        BadUsage: a number is out of its range, or no time is in that of the turns.
    """

    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups if empty."""
    shard: Shard | None = None
    """Only the groups of this shard among them; None: all."""
    since: datetime | None = None
    """Only turns that started then or later; UTC without a time zone."""
    until: datetime | None = None
    """Only turns that started before."""
    limit: int | None = None
    """At most this number of turns of each group, at least 1."""
    assumed_time: AssumedTime | None = None
    """The time of turns whose archive has no times; without it they stay pending."""
    retry: bool = False
    """Include quarantined turns."""
    sessions: frozenset[tuple[str, str]] | None = None
    """(format, session_id): only the turns of these sessions; None: of all."""
    dry_run: bool = False
    """Write nothing to the graph and send no request."""
    wait_seconds: float = 0
    """Try again for this long if another process writes a group or the graph, at least 0. The other
    groups come first."""
    preprocessing: str | None = None
    """Instructions for all turns of this run, instead of those in the settings: the name of a
    template, the text itself, or `none`. None: as in the settings."""
    reflexion: int | None = None
    """Reflexion passes for all turns of this run, from 0 to 3. None: as in the settings."""
    command: tuple[str, ...] = ()
    """Program and arguments, as the graph records them, without secrets."""
    archives: tuple[str, ...] = ()
    """The archives that a backfill reads, which it sets itself; recorded too."""

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            object.__setattr__(self, name, as_utc(getattr(self, name)))
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise BadUsage(
                f"no turn can have started in a range from {self.since:%Y-%m-%d %H:%M} until "
                f"{self.until:%Y-%m-%d %H:%M} UTC: `until` must be after `since`"
            )
        if self.limit is not None and self.limit < 1:
            raise BadUsage(f"the limit of a run must be at least 1 turn, not {self.limit}")
        if not 0 <= self.wait_seconds < math.inf:
            raise BadUsage(f"a run waits 0 seconds or more, not {self.wait_seconds}")
        if self.reflexion is not None and not 0 <= self.reflexion <= MAX_REFLEXION:
            raise BadUsage(f"a run has 0 to {MAX_REFLEXION} reflexion passes, not {self.reflexion}")


def settings_for_run(settings: Settings, options: RunOptions) -> Settings:
    """Return the settings with the extraction options of this run."""
    extraction = settings.extraction
    if options.preprocessing is not None:
        text = options.preprocessing.strip()
        extraction = extraction.with_prompt(
            None if text.lower() in ("", *NO_PROMPT_VALUES) else text
        )
    if options.reflexion is not None:
        extraction = _with_reflexion(extraction, options.reflexion)
    return settings.model_copy(update={"extraction": extraction})


def _with_reflexion(config: ExtractionConfig, passes: int) -> ExtractionConfig:
    """Return the configuration with the same number of passes for all turns of all groups."""
    update = {"reflexion": passes}
    groups = {name: group.model_copy(update=update) for name, group in config.groups.items()}
    return config.model_copy(update={**update, "groups": groups})


def new_ingest_run(settings: Settings, clock: Clock) -> IngestRun:
    run_id = str(uuid4())
    return IngestRun(
        run_id=run_id,
        owner=held_lease.owner_name(run_id),
        clock=clock,
        lease_ttl=timedelta(seconds=settings.lease_seconds),
        prefetch=settings.prefetch,
        run_ahead=_turns_ahead(settings),
        invalidation_alert=settings.invalidation_alert,
        extractor_named=settings.extractor is not None,
    )


def _turns_ahead(settings: Settings) -> int:
    """Return how many turns are resolved ahead: fewer if the limits leave no room for them."""
    limits = settings.llm
    per_minute = limits.requests_per_minute
    most = settings.run_ahead if per_minute is None else per_minute // _REQUESTS_A_MINUTE
    return min(settings.run_ahead, limits.concurrency - 1, most)


def ingest_scope(settings: Settings, options: RunOptions, now: datetime) -> Scope:
    return Scope(
        now=now,
        close_after=timedelta(minutes=settings.close_after_minutes),
        since=options.since,
        until=options.until,
        limit=options.limit,
        assume=options.assumed_time,
        retry=options.retry,
        sessions=options.sessions,
    )


def has_work(status: GroupReport, options: RunOptions) -> bool:
    """Return whether a run has turns to ingest in a group, or may have, as the graph was busy."""
    if status.error is not None:
        return status.retryable
    return status.ready > 0 or (options.retry and status.quarantined > 0)
