"""The port to a graph: load a group, commit a turn. Two stores implement it, Neo4j and Ladybug.

Both write Graphiti's own labels and properties (Episodic, Entity, RELATES_TO, MENTIONS, Saga,
HAS_EPISODE, NEXT_EPISODE), so that Graphiti can read turnetl's data; TurnCommit and TurnGroup
are turnetl's own. One contract test suite runs against both. A group has one writer at a time: a
lease has a fence that grows with each owner.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.base.graph_model import (
    LONGEST_LEASE,
    CommitRecord,
    CommittedTurn,
    Community,
    CommunityBatch,
    GroupContents,
    GroupProfile,
    GroupVersion,
    Lease,
    Receipt,
    Reversal,
    Reverted,
    Review,
    RunTotals,
    Subgraphs,
    TurnRun,
)
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Change, Entity, Fact, GroupId, SummaryWrites, TurnId
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.migrations import MigrationStep, MigrationSummary, OtherRelation, TurnMigration
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode

if TYPE_CHECKING:  # imports polars, which a search does without
    from turnetl.graph.group_tables import GroupTables


class ReceiptStore(Protocol):
    """The part of a `GraphStore` with which groups are planned."""

    async def groups(self) -> Sequence[GroupId]:
        """Return the groups that hold at least one committed turn, sorted."""

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        """Return the receipts of the group, by (started_at, turn_id). Reads no vector: cheap."""

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        """Return how many episodes, entities and facts the group holds."""

    async def recipes(self, digests: Collection[str]) -> Mapping[str, RecipeParts]:
        """Return the parts of those recipes that are recorded, by digest."""


class TurnStore(ReceiptStore, Protocol):
    """The part of a `GraphStore` with which turns are ingested.

    No method reads a clock: `now` is the current time, and a lease runs until `ttl` later. What
    writes under a lease is one transaction, and extends the lease. It raises

    - GraphUnusable if another writer took the group: its fence is higher. Nothing is written.
    - GraphBusy if the graph did not respond: reading shows whether it was written.
    """

    async def load(self, group: GroupId) -> GroupContents:
        """Return the complete group, including vectors."""

    async def profile(self, group: GroupId) -> GroupProfile | None:
        """Return the embedder and the recipe of the group; None if nothing was ever written."""

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        """Return the ids of all committed turns of the group."""

    async def acquire(
        self,
        group: GroupId,
        profile: GroupProfile,
        *,
        owner: str,
        now: datetime,
        ttl: timedelta,
        is_dead: Callable[[str], bool],
    ) -> Lease:
        """Take the lease of the group, with a fence one higher than any before.

        Args:
            group: created if it does not exist, with a random creation id.
            profile: of the run; its recipe replaces the recorded one.
            owner: who takes the lease.
            now: the current time.
            ttl: at most `LONGEST_LEASE`.
            is_dead: called with the owner of a lease that has not expired; True if that process is
                known to have ended, so that a killed run can be repeated without waiting.

        Raises:
            GraphBusy: the lease of another owner has not expired; says whose and until when. One
                that ends later than `LONGEST_LEASE` from now counts as expired.
            GraphUnusable: the group was created with another embedder or other dimensions.
        """

    async def record_recipe(self, parts: RecipeParts) -> None:
        """Record the parts of a recipe under its digest. Idempotent; needs no lease."""

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        """Extend the lease to now + ttl. Does nothing if another owner has taken it."""

    async def release(self, lease: Lease) -> None:
        """Release the lease. Does nothing if another owner has taken it."""

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        """Write all that a turn changes and its TurnCommit.

        The transaction increments the `sequence` of the TurnGroup and numbers the TurnCommit with
        it. A commit that writes nothing uses no number.

        Returns:
            False, with nothing written, if the turn was committed before.
        """

    async def save_run(self, run: TurnRun) -> None:
        """Write a run, or replace it. Needs no lease: a run is written by itself only."""

    async def run_totals(self) -> Mapping[str, RunTotals]:
        """Return what the graph holds of each run now, by run id; only runs with a turn."""

    async def write_summaries(
        self, lease: Lease, writes: SummaryWrites, *, now: datetime, ttl: timedelta
    ) -> None:
        """Write summaries, and what turns record about them. May be repeated.

        There are records of at least one turn, in the order of the commits. The latest of the
        turns, which must be that of the group, gets the next number of a commit, so that an index
        reads it again.

        Raises:
            GraphUnusable: also if a turn is not committed.
        """

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        """Return all migrations without their episodes; order and errors as of `migrations`."""

    async def migrate(
        self,
        leases: Sequence[Lease],
        step: MigrationStep | None,
        migration: TurnMigration | None,
        *,
        now: datetime,
        ttl: timedelta,
    ) -> None:
        """Make a step and write the state after it. May be repeated.

        Args:
            leases: of all groups of the step that a writer may lease, sorted by group.
            step: what is written; None: only the state.
            migration: the state; None: it does not change, and is not written, since it names each
                episode of the old data.
            now: the current time.
            ttl: of all leases.
        """


class GraphStore(TurnStore, Protocol):
    """A graph that holds groups of turns."""

    async def prepare(self) -> None:
        """Create missing indexes, constraints and tables. Idempotent."""

    async def load_subgraphs(self, group: GroupId) -> Subgraphs:
        """Return the group's episodes, mentions and communities, which only a search reads."""

    async def communities(self, group: GroupId) -> Sequence[Community]:
        """Return the group's communities with their members, by (created_at, uuid)."""

    async def versions(self) -> Mapping[GroupId, GroupVersion]:
        """Return the version of every group that was ever leased, by group. Reads no text: cheap.

        A group without turns has `turns` 0. A commit that is under way is not in it.
        """

    async def commits(self, group: GroupId, after: int, limit: int) -> Sequence[CommittedTurn]:
        """Return the turns committed after a number, by their own, at most `limit` of them.

        `after` is a `sequence` of the group; 0 for all turns. `limit` is positive: what it returns
        is held in memory, with all texts.
        """

    async def commit_records(
        self, group: GroupId, turns: Collection[TurnId] | None = None
    ) -> Sequence[CommitRecord]:
        """Return what is recorded about the committed turns of a group, by `sequence`.

        Reads no text and no vector: 10,000 turns fit into memory. Of `turns`, those that are not
        committed are omitted; None for all.
        """

    async def tables(self, group: GroupId) -> "GroupTables":
        """Return all rows of the group, whether or not they fit together. Reads no vector."""

    async def entities(self, group: GroupId, uuids: Collection[str]) -> Sequence[Entity]:
        """Return those that the group holds, with embeddings, by (created_at, uuid)."""

    async def facts(self, group: GroupId, uuids: Collection[str]) -> Sequence[Fact]:
        """Return those that the group holds, as `entities`."""

    async def revert(
        self, lease: Lease, reversal: Reversal, *, now: datetime, ttl: timedelta
    ) -> Reverted | None:
        """Undo a committed turn.

        Deletes its episodes with all their relationships and its TurnCommit, connects the episodes
        before and after it in its session, and deletes the saga with its last episode. Removes and
        restores entities and facts as the reversal says. Data without a TurnCommit, of another
        program, is not touched: an entity that it uses is kept. The `sequence` of the TurnGroup
        stays. If the reversal ends its run and the graph holds no other turn of it, the TurnRun is
        marked as undone.

        Returns:
            What was kept; None, with nothing written, if the turn is not committed.

        Raises:
            GraphUnusable: also if the graph does not hold a fact to restore.
        """

    async def write_review(
        self, lease: Lease, review: Review, *, now: datetime, ttl: timedelta
    ) -> None:
        """Write what was decided about held invalidations. May be repeated.

        Of each record, the turn gets the facts before, what is still held, and the two counts of
        invalidations in its receipt. If facts are written, the commit of the first record and all
        later ones of the group get the next numbers, in their order, so that an index reads them
        again.

        Raises:
            GraphUnusable: also if a turn is not committed, or the graph does not hold a fact.
        """

    async def runs(self) -> Sequence[TurnRun]:
        """Return all runs that wrote to the graph, by (started_at, run_id), newest first."""

    async def repair(
        self, lease: Lease, repair: GroupRepair, *, now: datetime, ttl: timedelta
    ) -> None:
        """Make one repair.

        Does nothing about what is not as it was when the repair was found: an entity or a fact that
        is in use stays, and links to an episode that is gone are not created.
        """

    async def write_communities(
        self, lease: Lease, batch: CommunityBatch, *, now: datetime, ttl: timedelta
    ) -> None:
        """Remove and write communities of a group.

        Raises:
            GraphUnusable: also if the group does not hold a member.
        """

    async def episode_groups(self) -> Sequence[GroupId]:
        """Return the groups that hold at least one Episodic node of any program, sorted."""

    async def unrecorded_episodes(self, group: GroupId) -> Sequence[UnrecordedEpisode]:
        """Return the episodes of the group that are no chunk of a committed turn, by uuid.

        Reads no vector. All their texts are held in memory.
        """

    async def embedding_sizes(self, group: GroupId) -> Mapping[int, int]:
        """Return how many entities of the group have an embedding of each number of dimensions."""

    async def content_state(self) -> str:
        """Return a text that changes whenever any program adds or removes an episode. Cheap.

        These are counts of nodes and relationships: a change that leaves all of them is not
        noticed.
        """

    async def session_level_groups(self) -> Sequence[GroupId]:
        """Return the groups with more episodes than their turns have, sorted. Reads no text."""

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData:
        """Return what other programs wrote into the group, all in memory.

        Entities and facts have embeddings only with `vectors`.
        """

    async def migrations(self) -> Sequence[TurnMigration]:
        """Return all migrations, by (started_at, migration_id).

        Raises:
            GraphUnusable: the state of one cannot be read at all.
        """

    async def other_relations(self, groups: Sequence[GroupId]) -> Sequence[OtherRelation]:
        """Return what uses nodes of these groups and is no part of them, by (node, other)."""

    async def pause(self) -> None:
        """Let other processes write until the next read, if it is open for reading only.

        The next read then opens an embedded graph again, and raises as `open_graph`.
        """

    async def close(self) -> None:
        """Close connections and files. Idempotent."""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """The TurnGroup node of a group. Everything but the fence is None before the first lease."""

    fence: int
    profile: GroupProfile | None
    used: bool
    """Whether a turn was ever committed to the group."""
    owner: str | None
    until: datetime | None


def grant_lease(
    group: GroupId,
    state: LeaseState,
    profile: GroupProfile,
    *,
    owner: str,
    now: datetime,
    ttl: timedelta,
    is_dead: Callable[[str], bool],
) -> Lease:
    """Return the lease to write into the graph; arguments and errors as `GraphStore.acquire`."""
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

    The owner of the lease is read without the lock; None if there is none.
    """
    lease = f", and `{owner}` has the lease until {until}" if owner else ""
    return (
        f"group `{group}` is locked by an open transaction of another process{lease}: the process "
        "may be stopped or hang; continue or end it, then run again"
    )


def new_creation_id() -> str:
    """Return a random id: numbers of commits start at 1 again if the group was deleted before."""
    return uuid4().hex


def check_lease(lease: Lease, fence: int | None, owner: str | None) -> None:
    """Check that the fence and owner in the graph are those of the lease: nobody took the group."""
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
