"""What a run is to take: which groups, which turns, and under which name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from turnetl import ids
from turnetl.errors import BadUsage
from turnetl.ingest import owner
from turnetl.ingest.assumed import AssumedTime
from turnetl.ingest.pipeline import Run
from turnetl.ingest.plan import Scope
from turnetl.model import GroupId
from turnetl.settings import Settings

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Limits:
    """Which turns an ingest may take: as `plan.Scope`, and of which groups."""

    groups: tuple[str, ...] = ()
    """All if none is named."""
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None
    assume: AssumedTime | None = None
    retry: bool = False
    dry_run: bool = False


def new_run(settings: Settings, clock: Clock) -> Run:
    """Return a run of this process."""
    run_id = str(uuid4())
    return Run(
        run_id=run_id,
        owner=owner.name(run_id),
        clock=clock,
        lease=timedelta(seconds=settings.lease_seconds),
        ahead=settings.ahead,
    )


def scope_of(settings: Settings, limits: Limits, now: datetime) -> Scope:
    return Scope(
        now=now,
        quiet=timedelta(minutes=settings.quiet_minutes),
        since=limits.since,
        until=limits.until,
        limit=limits.limit,
        assume=limits.assume,
        retry=limits.retry,
    )


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
