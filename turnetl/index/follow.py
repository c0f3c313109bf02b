"""Bring an index up to date with a graph, a batch of commits at a time.

What was committed while it runs may be missed, and is read by the next catch-up.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from turnetl.base.graph_model import CommittedTurn, GroupVersion
from turnetl.base.model import GroupId, TurnId
from turnetl.index.batch_writer import REMOVED_BATCH, BatchWriter, TurnBatch, forget_turns
from turnetl.index.integrity import check_parts
from turnetl.index.parts import IndexParts
from turnetl.index.port import FollowedGraph, ProgressCallback
from turnetl.index.report import CatchUpReport
from turnetl.index.unread_commits import unread_commits
from turnetl.llm.embedders.port import Embedder

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
        for known in catalog.groups():
            version = versions.get(known.group_id)
            if version is None or not known.is_of(version):
                await self._remove_group(known.group_id, keep_questions=version is not None)
        unread = unread_commits(catalog.groups(), versions)
        total = sum(map(len, unread.values()))
        for group, numbers in sorted(unread.items()):
            after = numbers.start - 1
            await self._follow(
                group, after, versions[group], lambda: on_progress(self._added, total)
            )
        with catalog.transaction():
            catalog.questions.prune()
        check_parts(self._parts, vectors=bool(self._added or self._removed))
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
        with catalog.transaction():
            catalog.add_group(group, version.creation_id)
        while sequence < version.sequence:
            commits = await self._graph.commits(group, sequence, _BATCH)
            if not commits:
                break
            batch = await self._read(group, commits)
            # Embedding takes most of the time; an ingest can start meanwhile.
            await self._graph.pause()
            await self._writer.write(batch)
            sequence = commits[-1].sequence
            self._added += len(commits)
            on_batch()
        if catalog.turn_count(group) != version.turns:
            held, present = catalog.turn_ids(group), await self._graph.turn_ids(group)
            await self._remove(group, held - present)
            await self._add(group, present - held, version)
        with catalog.transaction():
            catalog.set_sequence(group, max(sequence, version.sequence))

    async def _add(
        self, group: GroupId, missing: Collection[TurnId], version: GroupVersion
    ) -> None:
        """Index turns whose commits were read, and that are not there all the same.

        Two writers leave that where locks exclude nobody, as on some network file systems.
        """
        sequence = 0
        while missing and sequence < version.sequence:
            commits = await self._graph.commits(group, sequence, _BATCH)
            if not commits:
                return
            sequence = commits[-1].sequence
            lacking = [commit for commit in commits if commit.receipt.turn_id in missing]
            if lacking:
                batch = await self._read(group, lacking)
                await self._graph.pause()
                await self._writer.write(batch)
                self._added += len(lacking)

    async def _read(self, group: GroupId, commits: Sequence[CommittedTurn]) -> TurnBatch:
        """Read the present state of what the turns touched, also in an earlier commit of theirs.

        A turn that was undone and committed again may no longer touch what it touched before.
        """
        catalog = self._parts.catalog
        turns = [turn.receipt.turn_id for turn in commits]
        old_entities, old_facts = catalog.touched(catalog.turn_keys(turns).values())
        touched = _union([*(turn.entities for turn in commits), old_entities])
        entities = await self._graph.entities(group, touched)
        facts = await self._graph.facts(
            group, _union([*(turn.facts for turn in commits), old_facts])
        )
        ends = {uuid for fact in facts for uuid in (fact.source, fact.target)}
        others = sorted(ends - {entity.uuid for entity in entities})
        entities = [*entities, *(await self._graph.entities(group, others))]
        return TurnBatch(
            group,
            commits,
            entities,
            facts,
            catalog.questions.of_turns(turns),
            entities_gone=old_entities - {entity.uuid for entity in entities},
            facts_gone=old_facts - {fact.uuid for fact in facts},
        )

    async def _remove_group(self, group: GroupId, *, keep_questions: bool) -> None:
        catalog = self._parts.catalog
        await self._remove(group, catalog.turn_ids(group), keep_questions=keep_questions)
        with catalog.transaction():
            catalog.remove_group(group)

    async def _remove(
        self, group: GroupId, turns: Collection[TurnId], *, keep_questions: bool = False
    ) -> None:
        """Remove turns, and read again what they had created or changed.

        Args:
            group: of the turns.
            turns: which.
            keep_questions: for the case that the turns are read again.
        """
        ordered = sorted(turns)
        for start in range(0, len(ordered), REMOVED_BATCH):
            batch = ordered[start : start + REMOVED_BATCH]
            await self._remove_batch(group, batch, keep_questions=keep_questions)

    async def _remove_batch(
        self, group: GroupId, turns: Sequence[TurnId], *, keep_questions: bool
    ) -> None:
        catalog = self._parts.catalog
        keys = [*catalog.turn_keys(turns).values()]
        questions = catalog.questions.of_turns(turns) if keep_questions else {}
        touched_entities, touched_facts = catalog.touched(keys)
        entities = await self._graph.entities(group, sorted(touched_entities))
        facts = await self._graph.facts(group, sorted(touched_facts))
        await self._graph.pause()
        self._parts.before_step("catalog")
        with catalog.transaction():
            forget_turns(self._parts, keys)
            catalog.put(entities, facts, {})
            catalog.prune(touched_entities, touched_facts)
            catalog.questions.put(questions.values())
            catalog.next_generation()
        self._parts.reload()
        self._parts.remove_words()
        self._removed += len(keys)


def _union(uuids: Iterable[Collection[str]]) -> list[str]:
    """Return the distinct uuids, sorted."""
    return sorted({uuid for of_turn in uuids for uuid in of_turn})
