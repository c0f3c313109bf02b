"""Write leases: one writer per group, with a fence that grows with each owner."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.base.graph_model import LONGEST_LEASE, GroupProfile, Lease
from turnetl.base.model import GroupId


@dataclass(frozen=True, slots=True)
class LeaseState:
    """The TurnGroup node of a group. Everything but the fence is None before the first lease."""

    fence: int
    profile: GroupProfile | None
    used: bool
    """Whether a turn was ever committed to the group."""
    owner: str | None
    until: datetime | None


def grant(
    group: GroupId,
    state: LeaseState,
    profile: GroupProfile,
    *,
    owner: str,
    now: datetime,
    ttl: timedelta,
    is_dead: Callable[[str], bool],
) -> Lease:
    """Return the lease to write into the graph.

    Raises:
        GraphUnusable: the group was created with another embedder or other dimensions.
        GraphBusy: the lease of another owner has not expired.
    """
    if state.used and state.profile is not None:
        _check_embedder(group, state.profile, profile)
    is_running = state.until is not None and now < state.until <= now + LONGEST_LEASE
    if state.owner and state.owner != owner and is_running and not is_dead(state.owner):
        raise GraphBusy(
            f"group `{group}` is being written by `{state.owner}` until {state.until}; "
            "wait until it finishes, or run again after that time"
        )
    return Lease(group, owner, now + ttl, state.fence + 1)


def locked_group(group: GroupId, owner: str | None, until: datetime | None) -> str:
    """Return why a lock on a group was not granted in time, and what to do.

    Args:
        group: the group.
        owner: of the lease, as far as it can be read without the lock; None if there is none.
        until: when that lease expires.
    """
    lease = f", and `{owner}` has the lease until {until}" if owner else ""
    return (
        f"group `{group}` is locked by an open transaction of another process{lease}: the process "
        "may be stopped or hang; continue or end it, then run again"
    )


def new_creation_id() -> str:
    """Return a random id for a group that is created.

    The numbers of its commits start at 1 again if a group of that name was deleted.
    """
    return uuid4().hex


def check_lease(lease: Lease, fence: int | None, owner: str | None) -> None:
    """Check that the fence and owner in the graph are those of the lease.

    Raises:
        GraphUnusable: another writer took the group.
    """
    if fence == lease.fence and owner == lease.owner:
        return
    cause = f"`{owner}` took it over" if owner else "the lease was released"
    raise GraphUnusable(
        f"this run lost the lease of group `{lease.group_id}`: {cause}; nothing of the "
        "turn was written, run again"
    )


def _check_embedder(group: GroupId, recorded: GroupProfile, requested: GroupProfile) -> None:
    if (recorded.embedder, recorded.dimensions) == (requested.embedder, requested.dimensions):
        return
    raise GraphUnusable(
        f"group `{group}` was created with embedder `{recorded.embedder}` ({recorded.dimensions} "
        f"dimensions), not with `{requested.embedder}` ({requested.dimensions}): vectors of two "
        "embedders cannot be compared; use the first embedder again, or another group or graph"
    )
