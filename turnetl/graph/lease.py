"""Who may write a group: one writer at a time, held by a lease with a growing fence."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from turnetl.errors import GraphBusy, GraphRefused
from turnetl.model import GroupId, Lease, Profile


@dataclass(frozen=True, slots=True)
class Holding:
    """The TurnGroup node as it is. Everything but the fence is None while nobody wrote."""

    fence: int
    profile: Profile | None
    used: bool
    """Whether a turn was ever committed to the group."""
    owner: str | None
    until: datetime | None


def granted(
    group: GroupId,
    holding: Holding,
    profile: Profile,
    *,
    owner: str,
    now: datetime,
    ttl: timedelta,
    is_dead: Callable[[str], bool],
) -> Lease:
    """Return the lease that may be written into the graph.

    Raises:
        GraphRefused: what is there was made with another embedder or other dimensions.
        GraphBusy: somebody else's lease still runs.
    """
    if holding.used and holding.profile is not None:
        _same_vectors(group, holding.profile, profile)
    other = holding.owner is not None and holding.owner != owner
    runs = holding.until is not None and holding.until > now
    if other and runs and holding.owner and not is_dead(holding.owner):
        raise GraphBusy(
            f"group `{group}` is being written by `{holding.owner}` until {holding.until}; "
            "wait for it to finish, or run again after that time"
        )
    return Lease(group, owner, now + ttl, holding.fence + 1)


def refused(lease: Lease, fence: int | None, owner: str | None) -> GraphRefused | None:
    """Return the error if the lease is no longer the one that may write."""
    if fence == lease.fence and owner == lease.owner:
        return None
    holder = f"`{owner}` took it over" if owner else "it was given back"
    return GraphRefused(
        f"group `{lease.group_id}` is no longer ours to write: {holder} while this run was busy; "
        "nothing of the turn was written, run again"
    )


def _same_vectors(group: GroupId, there: Profile, ours: Profile) -> None:
    if (there.embedder, there.dimensions) == (ours.embedder, ours.dimensions):
        return
    raise GraphRefused(
        f"group `{group}` was made with embedder `{there.embedder}` ({there.dimensions} "
        f"dimensions), not with `{ours.embedder}` ({ours.dimensions}): vectors of two embedders "
        "cannot be compared; use the first embedder again, or another group or graph"
    )
