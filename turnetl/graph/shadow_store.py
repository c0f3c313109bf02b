"""A store that keeps the turns of one group in its shadow group, under the group's own name.

Who ingests through it computes the ids of the group itself, so that only `group_id` changes when a
migration moves the turns to the group.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import (
    CommitRecord,
    CommittedTurn,
    Community,
    CommunityBatch,
    EpisodeNode,
    GroupContents,
    GroupProfile,
    GroupVersion,
    Lease,
    Receipt,
    Reversal,
    Reverted,
    Subgraphs,
)
from turnetl.base.ids import turns_group
from turnetl.base.model import Change, Entity, Fact, GroupId, SummaryWrites, TurnId
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.migrations import MigrationStep, MigrationSummary, OtherRelation, TurnMigration
from turnetl.graph.port import GraphStore
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode

if TYPE_CHECKING:  # imports polars, which a search does without
    from turnetl.graph.group_tables import GroupTables

T = TypeVar("T", Entity, Fact, Receipt, Lease, EpisodeNode, Community, UnrecordedEpisode)


class ShadowStore:
    """`GraphStore` of one group: reads and writes `turns_group` of it. Other groups are refused.

    Leases name the group itself. The store below is not closed.
    """

    def __init__(self, store: GraphStore, group: GroupId) -> None:
        self._store = store
        self._group = group
        self._shadow = turns_group(group)
        # What names no group is the store's.
        self.prepare, self.pause = store.prepare, store.pause
        self.recipes, self.record_recipe = store.recipes, store.record_recipe
        self.runs, self.save_run, self.run_totals = store.runs, store.save_run, store.run_totals
        self.content_state = store.content_state

    async def groups(self) -> Sequence[GroupId]:
        return self._of(await self._store.groups())

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        return self._all_out(await self._store.receipts(self._in(group)))

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        return await self._store.counts(self._in(group))

    async def load(self, group: GroupId) -> GroupContents:
        contents = await self._store.load(self._in(group))
        return replace(
            contents,
            group_id=group,
            entities=self._all_out(contents.entities),
            facts=self._all_out(contents.facts),
            receipts=self._all_out(contents.receipts),
        )

    async def load_subgraphs(self, group: GroupId) -> Subgraphs:
        found = await self._store.load_subgraphs(self._in(group))
        return replace(
            found,
            episodes=self._all_out(found.episodes),
            communities=self._all_out(found.communities),
        )

    async def communities(self, group: GroupId) -> Sequence[Community]:
        return self._all_out(await self._store.communities(self._in(group)))

    async def profile(self, group: GroupId) -> GroupProfile | None:
        return await self._store.profile(self._in(group))

    async def versions(self) -> Mapping[GroupId, GroupVersion]:
        versions = await self._store.versions()
        return {self._group: versions[self._shadow]} if self._shadow in versions else {}

    async def commits(self, group: GroupId, after: int, limit: int) -> Sequence[CommittedTurn]:
        found = await self._store.commits(self._in(group), after, limit)
        return [replace(turn, receipt=self._out(turn.receipt)) for turn in found]

    async def commit_records(
        self, group: GroupId, turns: Collection[TurnId] | None = None
    ) -> Sequence[CommitRecord]:
        return [
            replace(
                record,
                receipt=self._out(record.receipt),
                entities_before=self._all_out(record.entities_before),
                facts_before=self._all_out(record.facts_before),
            )
            for record in await self._store.commit_records(self._in(group), turns)
        ]

    async def tables(self, group: GroupId) -> "GroupTables":
        return await self._store.tables(self._in(group))

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        return await self._store.turn_ids(self._in(group))

    async def entities(self, group: GroupId, uuids: Collection[str]) -> Sequence[Entity]:
        return self._all_out(await self._store.entities(self._in(group), uuids))

    async def facts(self, group: GroupId, uuids: Collection[str]) -> Sequence[Fact]:
        return self._all_out(await self._store.facts(self._in(group), uuids))

    async def episode_groups(self) -> Sequence[GroupId]:
        return self._of(await self._store.episode_groups())

    async def unrecorded_episodes(self, group: GroupId) -> Sequence[UnrecordedEpisode]:
        return self._all_out(await self._store.unrecorded_episodes(self._in(group)))

    async def embedding_sizes(self, group: GroupId) -> Mapping[int, int]:
        return await self._store.embedding_sizes(self._in(group))

    async def session_level_groups(self) -> Sequence[GroupId]:
        return self._of(await self._store.session_level_groups())

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData:
        found = await self._store.session_level(self._in(group), vectors=vectors)
        return replace(
            found,
            group_id=group,
            episodes=self._all_out(found.episodes),
            entities=self._all_out(found.entities),
            facts=self._all_out(found.facts),
        )

    async def migrations(self) -> Sequence[TurnMigration]:
        """Return none: the shadow group itself is not migrated."""
        return ()

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        """Return none, as `migrations`."""
        return ()

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
        lease = await self._store.acquire(
            self._in(group), profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead
        )
        return self._out(lease)

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        await self._store.renew(self._hidden(lease), now=now, ttl=ttl)

    async def release(self, lease: Lease) -> None:
        await self._store.release(self._hidden(lease))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        return await self._store.commit(
            self._hidden(lease), self._change(change), self._hidden(receipt), now=now, ttl=ttl
        )

    async def write_summaries(
        self, lease: Lease, writes: SummaryWrites, *, now: datetime, ttl: timedelta
    ) -> None:
        await self._store.write_summaries(self._hidden(lease), writes, now=now, ttl=ttl)

    async def revert(
        self, lease: Lease, reversal: Reversal, *, now: datetime, ttl: timedelta
    ) -> Reverted | None:
        hidden = replace(
            reversal,
            receipt=self._hidden(reversal.receipt),
            entities_restored=self._all_hidden(reversal.entities_restored),
            facts_restored=self._all_hidden(reversal.facts_restored),
        )
        return await self._store.revert(self._hidden(lease), hidden, now=now, ttl=ttl)

    async def repair(
        self, lease: Lease, repair: GroupRepair, *, now: datetime, ttl: timedelta
    ) -> None:
        await self._store.repair(self._hidden(lease), repair, now=now, ttl=ttl)

    async def write_communities(
        self, lease: Lease, batch: CommunityBatch, *, now: datetime, ttl: timedelta
    ) -> None:
        hidden = replace(batch, written=self._all_hidden(batch.written))
        await self._store.write_communities(self._hidden(lease), hidden, now=now, ttl=ttl)

    async def other_relations(self, groups: Sequence[GroupId]) -> Sequence[OtherRelation]:
        return await self._store.other_relations([self._in(group) for group in groups])

    async def migrate(
        self,
        leases: Sequence[Lease],
        step: MigrationStep | None,
        migration: TurnMigration | None,
        *,
        now: datetime,
        ttl: timedelta,
    ) -> None:
        hidden = self._all_hidden(leases)
        await self._store.migrate(hidden, step, migration, now=now, ttl=ttl)

    async def close(self) -> None:
        """Leave the store below open."""

    def _of(self, groups: Sequence[GroupId]) -> Sequence[GroupId]:
        return [self._group] if self._shadow in groups else []

    def _in(self, group: GroupId) -> GroupId:
        if group != self._group:
            raise BadUsage(f"group `{group}` is not the one that is migrated: `{self._group}`")
        return self._shadow

    def _hidden(self, value: T) -> T:
        return replace(value, group_id=self._in(value.group_id))

    def _all_hidden(self, values: Sequence[T]) -> tuple[T, ...]:
        return tuple(map(self._hidden, values))

    def _out(self, value: T) -> T:
        return replace(value, group_id=self._group)

    def _all_out(self, values: Sequence[T]) -> tuple[T, ...]:
        return tuple(map(self._out, values))

    def _change(self, change: Change) -> Change:
        turn = change.episode.turn
        return replace(
            change,
            episode=replace(change.episode, turn=replace(turn, group_id=self._in(turn.group_id))),
            entities=self._all_hidden(change.entities),
            facts=self._all_hidden(change.facts),
            entities_before=self._all_hidden(change.entities_before),
            facts_before=self._all_hidden(change.facts_before),
        )
