"""What a run is to take: which groups, which turns, how, and under which name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from turnetl import ids
from turnetl.errors import BadUsage
from turnetl.extraction.config import OFF, ExtractionConfig
from turnetl.ingest import lease_owner
from turnetl.ingest.assumed_time import AssumedTime
from turnetl.ingest.plan import Scope
from turnetl.ingest.report import GroupReport
from turnetl.ingest.turn_pipeline import IngestRun
from turnetl.model import GroupId
from turnetl.settings import Settings

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which turns an ingest may take, as `plan.Scope` and of which groups, and how, this once."""

    groups: tuple[str, ...] = ()
    """All if none is named."""
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None
    assume: AssumedTime | None = None
    retry: bool = False
    dry_run: bool = False
    preprocessing: str | None = None
    """Instructions for all turns of this run, over all that the settings say: a template's name,
    the text itself, or `none`. None: as the settings say."""
    reflexion: int | None = None
    """As `preprocessing`: times that a model is asked what it missed."""


def for_run(settings: Settings, limits: RunOptions) -> Settings:
    """Return the settings with what is said of extraction for this run alone."""
    said = settings.extraction
    if limits.preprocessing is not None:
        text = limits.preprocessing.strip()
        said = said.for_run(None if text.lower() in ("", *OFF) else text)
    if limits.reflexion is not None:
        said = _reflecting(said, limits.reflexion)
    return settings.model_copy(update={"extraction": said})


def _reflecting(said: ExtractionConfig, times: int) -> ExtractionConfig:
    own = {"reflexion": times}
    groups = {name: group.model_copy(update=own) for name, group in said.groups.items()}
    return said.model_copy(update={**own, "groups": groups})


def new_run(settings: Settings, clock: Clock) -> IngestRun:
    """Return a run of this process."""
    run_id = str(uuid4())
    return IngestRun(
        run_id=run_id,
        owner=lease_owner.owner_name(run_id),
        clock=clock,
        lease_ttl=timedelta(seconds=settings.lease_seconds),
        prefetch=settings.prefetch,
        invalidation_alert=settings.invalidation_alert,
    )


def scope_of(settings: Settings, limits: RunOptions, now: datetime) -> Scope:
    return Scope(
        now=now,
        quiet=timedelta(minutes=settings.quiet_minutes),
        since=limits.since,
        until=limits.until,
        limit=limits.limit,
        assume=limits.assume,
        retry=limits.retry,
    )


def has_work(stood: GroupReport, limits: RunOptions) -> bool:
    """Whether a run has something to do for a group that stands so."""
    again = limits.retry and stood.quarantined > 0
    return stood.error is None and (stood.ready > 0 or again)


def chosen(there: Sequence[GroupId], named: Sequence[str]) -> list[GroupId]:
    """Return the groups named, as they are or as a project's name; all of them if none is named.

    Raises:
        BadUsage: a name that is not there; says which are.
    """
    wanted = {GroupId(name) if name in there else ids.group_id(name): name for name in named}
    unknown = [name for group, name in wanted.items() if group not in there]
    if unknown:
        raise BadUsage(
            f"there is no group `{unknown[0]}`; there are: {', '.join(there) or 'none yet'}"
        )
    return [group for group in there if not named or group in wanted]
