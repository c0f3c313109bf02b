"""Bring an index up to date with a graph, a batch of commits at a time.

What was committed while it runs may be missed, and is read by the next catch-up.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from turnetl.index.batch_writer import BatchWriter, TurnBatch, forget_turns
from turnetl.index.parts import IndexParts
from turnetl.index.port import CatchUpReport, FollowedGraph, ProgressCallback
from turnetl.llm.embedders.port import Embedder
from turnetl.model import CommittedTurn, GroupId, GroupVersion, TurnId

_BATCH = 100
"""Turns that are written together: a kill loses at most their embeddings."""


class Follower:
    """One catch-up. The caller excludes other writers."""

    def __init__(self, parts: IndexParts, graph: FollowedGraph, embedder: Embedder) -> None:
        self._parts = parts
        self._graph = graph
        self._writer = BatchWriter(parts, embedder)
        self._added = 0
        self._removed = 0

    async def catch_up(self, on_progress: ProgressCallback) -> CatchUpReport:
        """Read what changed in all groups."""
        catalog = self._parts.catalog
        versions = await self._graph.versions()
        known = {group.group_id: group for group in catalog.groups()}
        for group in known.keys() - versions.keys():
            await self._remove(group, catalog.turn_ids(group))
            with catalog.transaction():
                catalog.remove_group(group)
        sequences = {group: known[group].sequence if group in known else 0 for group in versions}
        total = sum(
            max(version.sequence - sequences[group], 0) for group, version in versions.items()
        )
        for group, version in sorted(versions.items()):
            await self._follow(
                group, sequences[group], version, lambda: on_progress(self._added, total)
            )
        return CatchUpReport(self._added, self._removed)

    async def _follow(
        self,
        group: GroupId,
        sequence: int,
        version: GroupVersion,
        on_batch: Callable[[], None],
    ) -> None:
        """Index the commits of a group after a sequence number; drop the turns that are gone."""
        catalog = self._parts.catalog
        while sequence < version.sequence:
            commits = await self._graph.commits(group, sequence, _BATCH)
            if not commits:
                break
            await self._writer.write(await self._read(group, commits))
            sequence = commits[-1].sequence
            self._added += len(commits)
            on_batch()
        if catalog.turn_count(group) != version.turns:
            gone = catalog.turn_ids(group) - await self._graph.turn_ids(group)
            await self._remove(group, gone)
        with catalog.transaction():
            catalog.set_sequence(group, max(sequence, version.sequence))

    async def _read(self, group: GroupId, commits: Sequence[CommittedTurn]) -> TurnBatch:
        entities = await self._graph.entities(group, _union(turn.entities for turn in commits))
        facts = await self._graph.facts(group, _union(turn.facts for turn in commits))
        ends = {uuid for fact in facts for uuid in (fact.source, fact.target)}
        others = sorted(ends - {entity.uuid for entity in entities})
        entities = [*entities, *(await self._graph.entities(group, others))]
        turns = [turn.receipt.turn_id for turn in commits]
        questions = self._parts.catalog.questions.of_turns(turns)
        return TurnBatch(group, commits, entities, facts, questions)

    async def _remove(self, group: GroupId, turns: Collection[TurnId]) -> None:
        """Remove turns, and read again what they had created or changed."""
        if not turns:
            return
        catalog = self._parts.catalog
        keys = [*catalog.turn_keys(turns).values()]
        touched_entities, touched_facts = catalog.touched(keys)
        entities = await self._graph.entities(group, sorted(touched_entities))
        facts = await self._graph.facts(group, sorted(touched_facts))
        self._parts.before_step("catalog")
        with catalog.transaction():
            forget_turns(self._parts, keys)
            catalog.put(entities, facts, {})
            catalog.prune(touched_entities, touched_facts)
            catalog.next_generation()
        self._parts.reload()
        self._parts.remove_words()
        self._removed += len(keys)


def _union(uuids: Iterable[Sequence[str]]) -> list[str]:
    """Return the distinct uuids, sorted."""
    return sorted({uuid for of_turn in uuids for uuid in of_turn})
