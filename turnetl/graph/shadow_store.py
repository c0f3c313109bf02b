"""A store that keeps the turns of one group in its shadow group, under the group's own name.

A run that ingests through it computes the ids of the group itself, so that only `group_id` changes
when a migration moves the turns to the group.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import GroupContents, GroupProfile, Lease, Receipt
from turnetl.base.ids import turns_group
from turnetl.base.model import Change, Entity, Fact, GroupId, SummaryWrites, TurnId
from turnetl.graph.migrations import MigrationStep, MigrationSummary, TurnMigration
from turnetl.graph.port import GraphStore

T = TypeVar("T", Entity, Fact, Receipt, Lease)


class ShadowStore:
    """`TurnStore` of one group: reads and writes `turns_group` of it. Other groups are refused.

    Leases name the group itself.
    """

    def __init__(self, store: GraphStore, group: GroupId) -> None:
        self._store = store
        self._group = group
        self._shadow = turns_group(group)
        # Methods without a group need no other name.
        self.recipes, self.record_recipe = store.recipes, store.record_recipe
        self.save_run, self.run_totals = store.save_run, store.run_totals

    async def groups(self) -> Sequence[GroupId]:
        return [self._group] if self._shadow in await self._store.groups() else []

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

    async def profile(self, group: GroupId) -> GroupProfile | None:
        return await self._store.profile(self._in(group))

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        return await self._store.turn_ids(self._in(group))

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        """Return none: the shadow group itself is not migrated."""
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
