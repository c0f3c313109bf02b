"""Bring an index up to date with a graph, a batch of commits at a time.

A batch is written in the order vectors, words, catalog. What a killed writer left of the first two
has keys that the catalog does not hold; readers ignore it, and the next batch overwrites it.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from turnetl.index.batch_writer import BatchWriter, TurnBatch
from turnetl.index.catalog import Catalog
from turnetl.index.lexical import LexicalIndex
from turnetl.index.port import CatchUpReport, FollowedGraph, ProgressCallback
from turnetl.index.vectors import PassageVectors
from turnetl.llm.embedders.port import Embedder
from turnetl.model import CommittedTurn, GroupId, TurnId

_BATCH = 200
"""Turns that are written together: a kill loses at most their embeddings."""


class Follower:
    """One catch-up. The caller excludes other writers."""

    def __init__(
        self,
        catalog: Catalog,
        lexical: LexicalIndex,
        vectors: PassageVectors,
        graph: FollowedGraph,
        embedder: Embedder,
    ) -> None:
        self._catalog = catalog
        self._lexical = lexical
        self._vectors = vectors
        self._graph = graph
        self._writer = BatchWriter(catalog, lexical, vectors, embedder)
        self._added = 0
        self._removed = 0

    async def catch_up(self, on_progress: ProgressCallback) -> CatchUpReport:
        """Read what changed in all groups."""
        versions = await self._graph.versions()
        known = {group.group_id: group for group in self._catalog.groups()}
        for group in known.keys() - versions.keys():
            await self._remove(group, self._catalog.turn_ids(group))
            with self._catalog.transaction():
                self._catalog.remove_group(group)
        total = sum(
            max(version.sequence - (known[group].sequence if group in known else 0), 0)
            for group, version in versions.items()
        )
        for group, version in sorted(versions.items()):
            if group not in known or known[group].sequence != version.sequence:
                await self._follow(group, known[group].sequence if group in known else 0)
                on_progress(self._added, total)
        return CatchUpReport(self._added, self._removed)

    async def _follow(self, group: GroupId, sequence: int) -> None:
        """Index the commits of a group after a sequence number; drop the turns that are gone."""
        while commits := await self._graph.commits(group, sequence, _BATCH):
            await self._writer.write(await self._read(group, commits))
            sequence = commits[-1].sequence
            self._added += len(commits)
        ids = await self._graph.turn_ids(group)
        if gone := self._catalog.turn_ids(group) - ids:
            await self._remove(group, gone)
        version = (await self._graph.versions()).get(group)
        with self._catalog.transaction():
            # A commit since then has a higher number, so the next catch-up finds it.
            self._catalog.set_sequence(group, version.sequence if version else sequence)

    async def _read(self, group: GroupId, commits: Sequence[CommittedTurn]) -> TurnBatch:
        entities = await self._graph.entities(group, _union(turn.entities for turn in commits))
        facts = await self._graph.facts(group, _union(turn.facts for turn in commits))
        known = {entity.uuid for entity in entities}
        ends = {uuid for fact in facts for uuid in (fact.source, fact.target)} - known
        entities = [*entities, *(await self._graph.entities(group, sorted(ends)))]
        questions = self._catalog.questions.of_turns([turn.receipt.turn_id for turn in commits])
        return TurnBatch(group, commits, entities, facts, questions)

    async def _remove(self, group: GroupId, turns: Collection[TurnId]) -> None:
        """Remove turns, and read again what they had created or changed."""
        keys = [*self._catalog.turn_keys(turns).values()]
        touched_entities, touched_facts = self._catalog.touched(keys)
        entities = await self._graph.entities(group, sorted(touched_entities))
        facts = await self._graph.facts(group, sorted(touched_facts))
        with self._catalog.transaction():
            self._catalog.remove_turns(keys)
            self._catalog.put(entities, facts, {})
            self._catalog.prune(touched_entities, touched_facts)
        self._lexical.write([], keys)
        self._vectors.remove(np.array(keys, dtype=np.int64))
        self._removed += len(keys)


def _union(uuids: Iterable[Sequence[str]]) -> list[str]:
    """Return the distinct uuids, sorted."""
    return sorted({uuid for of_turn in uuids for uuid in of_turn})
