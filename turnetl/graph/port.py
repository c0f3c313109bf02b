"""The seam to a graph: load a group, commit a turn. Two stores stand behind it, Neo4j and Ladybug.

Both write Graphiti's own labels and properties (Episodic, Entity, RELATES_TO, MENTIONS, Saga,
HAS_EPISODE, NEXT_EPISODE), so that Graphiti reads what turnetl wrote; TurnCommit and TurnGroup are
turnetl's own. One contract test suite runs against both.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from turnetl.model import Change, GroupContents, GroupId, Lease, Profile, Receipt


class GraphStore(Protocol):
    """A graph that holds groups of turns. Times are handed in; nothing here reads a clock."""

    async def prepare(self) -> None:
        """Create indexes, constraints and tables that are missing. Safe to repeat."""

    async def groups(self) -> Sequence[GroupId]:
        """Return the groups that hold at least one committed turn, sorted."""

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        """Return what is committed, by (started_at, turn_id). Reads no vector: cheap."""

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        """Return how many episodes, entities and facts the group holds."""

    async def load(self, group: GroupId) -> GroupContents:
        """Return the group whole, vectors and all."""

    async def acquire(
        self,
        group: GroupId,
        profile: Profile,
        *,
        owner: str,
        now: datetime,
        ttl: timedelta,
        is_dead: Callable[[str], bool],
    ) -> Lease:
        """Take the group for writing, with a fence one higher than any before.

        Args:
            group: created if it is not there.
            profile: what is about to be written with; the recorded recipe becomes this one.
            owner: who asks.
            now: the time.
            ttl: how long the lease shall run.
            is_dead: asked about the owner of a lease that still runs; True if that process is
                known to be gone, so that a killed run can be repeated at once.

        Raises:
            GraphBusy: another owner's lease has not run out; says whose and until when.
            GraphRefused: the group was made with another embedder or other dimensions.
        """

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        """Let the lease run until now + ttl. Does nothing if it is no longer ours."""

    async def release(self, lease: Lease) -> None:
        """Give the group back. Does nothing if the lease is no longer ours."""

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        """Write a turn's whole effect and its TurnCommit in one transaction; extend the lease.

        Returns:
            False, having written nothing, if the turn was committed before.

        Raises:
            GraphRefused: the fence has moved on: another writer took the group. Nothing written.
            GraphBusy: the graph did not answer; whether it was written must be asked of `receipts`.
        """

    async def close(self) -> None:
        """Let go of connections and files. Safe to repeat."""
