"""Bring an index up to date with a graph, a batch of commits at a time.

A batch is written in the order vectors, words, catalog. What a killed writer left of the first two
has keys that the catalog does not hold; readers ignore it, and the next batch overwrites it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from turnetl.index.catalog import TOKENS, Catalog
from turnetl.index.documents import TurnDocument, turn_document
from turnetl.index.lexical import LexicalIndex
from turnetl.index.port import CatchUpReport, FollowedGraph, ProgressCallback
from turnetl.index.terms import Tokenizer
from turnetl.index.vectors import PassageRows, PassageVectors
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.llm.vectors import stack
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
        self._embedder = embedder
        self._tokenizer = Tokenizer()
        self._static_model = StaticModel.open()
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
            await self._index(group, commits)
            sequence = commits[-1].sequence
            self._added += len(commits)
        ids = await self._graph.turn_ids(group)
        if gone := self._catalog.turn_ids(group) - ids:
            await self._remove(group, gone)
        version = (await self._graph.versions()).get(group)
        with self._catalog.transaction():
            # A commit since then has a higher number, so the next catch-up finds it.
            self._catalog.set_sequence(group, version.sequence if version else sequence)

    async def _index(self, group: GroupId, commits: Sequence[CommittedTurn]) -> None:
        entities = await self._graph.entities(group, _union(turn.entities for turn in commits))
        facts = await self._graph.facts(group, _union(turn.facts for turn in commits))
        known = {entity.uuid for entity in entities}
        ends = {uuid for fact in facts for uuid in (fact.source, fact.target)} - known
        entities = [*entities, *(await self._graph.entities(group, sorted(ends)))]
        with self._catalog.transaction():
            outdated = self._catalog.turn_keys([turn.receipt.turn_id for turn in commits])
            self._catalog.remove_turns(outdated.values())
            keys = {turn.receipt.turn_id: self._catalog.add_turn(turn) for turn in commits}
            self._catalog.put(entities, facts, keys)
            documents = self._documents(commits, keys)
            counts = self._vectors.append(await self._rows(documents))
            self._lexical.write([document.terms for document in documents], [*outdated.values()])
            self._catalog.add_token_counts(_token_counts(documents))
            self._catalog.record("rows", counts.rows)
            self._catalog.record("tokens", counts.tokens)
            self._catalog.set_sequence(group, commits[-1].sequence)
        self._vectors.remove(np.array([*outdated.values()], dtype=np.int64))

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

    def _documents(
        self, commits: Sequence[CommittedTurn], keys: Mapping[TurnId, int]
    ) -> list[TurnDocument]:
        facts = self._catalog.facts(keys.values())
        return [
            turn_document(
                keys[turn.receipt.turn_id],
                turn.text,
                facts[keys[turn.receipt.turn_id]],
                self._tokenizer,
                self._static_model,
            )
            for turn in commits
        ]

    async def _rows(self, documents: Sequence[TurnDocument]) -> PassageRows:
        passages = [passage for document in documents for passage in document.passages]
        vectors = await self._embedder.embed([passage.text for passage in passages])
        return PassageRows(
            [document.terms.key for document in documents for _ in document.passages],
            [passage.weight for passage in passages],
            stack(vectors) if vectors else np.zeros((0, self._embedder.dimensions), np.float32),
            [tokens for document in documents for tokens in document.tokens],
        )


def _union(uuids: Iterable[Sequence[str]]) -> list[str]:
    """Return the distinct uuids, sorted."""
    return sorted({uuid for of_turn in uuids for uuid in of_turn})


def _token_counts(documents: Sequence[TurnDocument]) -> NDArray[np.uint32]:
    """Return how many of the turns contain each token."""
    counts = np.zeros(TOKENS, dtype=np.uint32)
    for document in documents:
        if document.tokens:
            counts[np.unique(np.concatenate(document.tokens))] += 1
    return counts
