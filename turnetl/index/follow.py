"""Bring an index up to date with a graph, a batch of commits at a time; estimate what that takes.

What was committed while it runs may be missed, and is read by the next catch-up. A batch is written
in the order vectors, words, catalog: what a killed writer left of the first two has keys that the
catalog does not hold, so that readers ignore it and the next writer replaces it. Turns are removed
in the order catalog, words; the catalog remembers which words are still to be removed.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from turnetl.base.batched import batched
from turnetl.base.graph_model import CommittedTurn, GroupVersion
from turnetl.base.model import Entity, Fact, GroupId, TurnId, Vector
from turnetl.base.terms import Tokenizer
from turnetl.base.text import estimate_tokens
from turnetl.episode_text.passages import split_passages
from turnetl.index.catalog import Catalog, StoredQuestions, text_digest
from turnetl.index.catalog_state import TOKENS
from turnetl.index.documents import TurnDocument, turn_document, turn_terms
from turnetl.index.files import LEXICAL, IndexEmbedder, check_embedder
from turnetl.index.index_report import CatchUpReport, IndexedGroup, unread_commits
from turnetl.index.integrity import check_parts
from turnetl.index.lexical import LexicalIndex, TurnTerms
from turnetl.index.parts import IndexParts
from turnetl.index.port import FollowedGraph, IndexedFact, ProgressCallback
from turnetl.index.vectors import PassageRows
from turnetl.llm.embedders import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.llm.vectors import stack

T = TypeVar("T")

_EMBEDDED_BATCH = 256
"""Passages; other tasks run in between."""
REMOVED_BATCH = 1000
"""Turns that are removed in one transaction."""


@dataclass(frozen=True, slots=True)
class TurnBatch:
    """Turns of a group, with the present state of what they created or changed."""

    group: GroupId
    commits: Sequence[CommittedTurn]
    """In the order of their commits; the last one's number is recorded for the group."""
    entities: Sequence[Entity]
    facts: Sequence[Fact]
    questions: Mapping[TurnId, StoredQuestions]
    """Of those turns that have some; they apply to a turn with the same text."""
    entities_gone: Collection[str] = ()
    """Uuids of entities that an earlier commit of one of these turns touched, and that the graph no
    longer holds: the turn was undone and committed again."""
    facts_gone: Collection[str] = ()
    """The same of facts."""


class BatchWriter:
    """Adds turns to an index or replaces them. The caller excludes other writers."""

    def __init__(self, parts: IndexParts, embedder: Embedder) -> None:
        self._parts = parts
        self._embedder = embedder
        self._tokenizer = Tokenizer()
        self._static_model = StaticModel.open()

    async def write(self, batch: TurnBatch) -> None:
        first = self._parts.catalog.last_key() + 1
        keys = {turn.receipt.turn_id: key for key, turn in enumerate(batch.commits, start=first)}
        texts = {turn.receipt.turn_id: turn.text for turn in batch.commits}
        questions = {
            turn: stored
            for turn, stored in batch.questions.items()
            if stored.digest == text_digest(texts[turn])
        }
        batch = replace(batch, questions=questions)
        documents = await _in_thread(lambda: self._documents(batch, keys))
        passages = [passage.text for document in documents for passage in document.passages]
        vectors = await self._embedded(passages)
        rows = self._rows(documents, vectors)
        recorded = self._parts.embedder
        check_embedder(recorded, IndexEmbedder(recorded.name, rows.vectors.shape[1]))
        await _in_thread(lambda: self._write(batch, keys, documents, rows))

    async def _embedded(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for batch in batched(texts, _EMBEDDED_BATCH):
            vectors += await self._embedder.embed(batch)
            await asyncio.sleep(0)
        return vectors

    def _write(
        self,
        batch: TurnBatch,
        keys: Mapping[TurnId, int],
        documents: Sequence[TurnDocument],
        rows: PassageRows,
    ) -> None:
        catalog = self._parts.catalog
        valid = self._parts.vectors.append(rows)
        self._parts.lexical.add([document.terms for document in documents], catalog.last_key())
        self._parts.share()
        self._parts.before_step("catalog")
        with catalog.transaction():
            forget_turns(self._parts, catalog.turn_keys(keys).values())
            for turn in batch.commits:
                catalog.add_turn(keys[turn.receipt.turn_id], turn)
            catalog.put(batch.entities, batch.facts, keys)
            catalog.prune(batch.entities_gone, batch.facts_gone)
            catalog.questions.replace(keys, batch.questions.values())
            catalog.add_token_counts(_token_counts(document.tokens for document in documents))
            catalog.set_valid_rows(valid)
            catalog.next_generation()
            catalog.set_sequence(batch.group, batch.commits[-1].sequence)
        self._parts.reload()
        self._parts.remove_words()

    def _documents(self, batch: TurnBatch, keys: Mapping[TurnId, int]) -> list[TurnDocument]:
        facts = _facts_by_turn(batch)
        questions = {turn: stored.questions for turn, stored in batch.questions.items()}
        return [
            turn_document(
                keys[turn.receipt.turn_id],
                turn.text,
                facts[turn.receipt.turn_id],
                self._tokenizer,
                self._static_model,
                questions=questions.get(turn.receipt.turn_id, ()),
            )
            for turn in batch.commits
        ]

    def _rows(self, documents: Sequence[TurnDocument], vectors: Sequence[Vector]) -> PassageRows:
        return PassageRows(
            [document.terms.key for document in documents for _ in document.passages],
            [passage.weight for document in documents for passage in document.passages],
            stack(vectors)
            if vectors
            else np.zeros((0, self._parts.embedder.dimensions), np.float32),
            [tokens for document in documents for tokens in document.tokens],
        )


def forget_turns(parts: IndexParts, keys: Collection[int]) -> None:
    """Remove turns from the catalog, in its transaction."""
    tokens = parts.vectors.tokens_of(np.array(sorted(keys), dtype=np.int64))
    of_passages = np.split(tokens.tokens, tokens.starts[1:])
    by_turn: dict[int, list[NDArray[np.uint16]]] = {}
    for key, of_passage in zip(tokens.keys.tolist(), of_passages, strict=False):
        by_turn.setdefault(key, []).append(of_passage)
    parts.catalog.add_token_counts(-_token_counts(by_turn.values()))
    parts.catalog.remove_turns(keys)


def forget(parts: IndexParts, turns: Collection[TurnId]) -> int:
    """Remove turns and what only they state; return how many there were."""
    keys = sorted(parts.catalog.turn_keys(turns).values())
    # A transaction is held in memory.
    for batch in batched(keys, REMOVED_BATCH):
        entities, facts = parts.catalog.touched(batch)
        with parts.catalog.transaction():
            forget_turns(parts, batch)
            parts.catalog.prune(entities, facts)
            parts.catalog.next_generation()
        parts.reload()
        parts.remove_words()
    return len(keys)


def rewrite_words(folder: Path, catalog: Catalog) -> None:
    """Write the words of all turns of a catalog again, from their texts, facts and questions."""
    tokenizer = Tokenizer()

    def terms() -> Iterator[TurnTerms]:
        for keys in batched(catalog.keys(), REMOVED_BATCH):
            turns, facts = catalog.turns(keys), catalog.facts(keys)
            stored = catalog.questions.of_turns([turn.turn_id for turn in turns.values()])
            for key, turn in turns.items():
                asked = stored.get(turn.turn_id)
                questions = () if asked is None else asked.questions
                yield turn_terms(key, turn.text, facts[key], tokenizer, questions=questions)

    LexicalIndex(folder / LEXICAL, create=False).rewrite(terms())


def batches_with_questions(
    catalog: Catalog, questions: Mapping[int, Sequence[str]]
) -> Iterator[TurnBatch]:
    """Yield the turns as the catalog holds them, with these questions by their keys."""
    sequences = {group.group_id: group.sequence for group in catalog.groups()}
    turns = catalog.turns(questions)
    for group, sequence in sequences.items():
        of_group = {key: one for key, one in turns.items() if one.receipt.group_id == group}
        if not of_group:
            continue
        indexed = [fact for facts in catalog.facts(of_group).values() for fact in facts]
        ends = {end.uuid: end for fact in indexed for end in (fact.source, fact.target)}
        commits = [
            CommittedTurn(turn.receipt, sequence, turn.text, *_touched(catalog, key))
            for key, turn in of_group.items()
        ]
        stored = (
            StoredQuestions(turn.receipt.turn_id, text_digest(turn.text), tuple(questions[key]))
            for key, turn in of_group.items()
        )
        facts = {fact.fact.uuid: fact.fact for fact in indexed}
        yield TurnBatch(
            group,
            commits,
            [*ends.values()],
            [*facts.values()],
            {one.turn_id: one for one in stored},
        )


def _touched(catalog: Catalog, key: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    entities, facts = catalog.touched([key])
    return tuple(sorted(entities)), tuple(sorted(facts))


def _facts_by_turn(batch: TurnBatch) -> dict[TurnId, list[IndexedFact]]:
    entities = {entity.uuid: entity for entity in batch.entities}
    facts: dict[TurnId, list[IndexedFact]] = {turn.receipt.turn_id: [] for turn in batch.commits}
    for fact in batch.facts:
        if fact.source in entities and fact.target in entities:
            indexed = IndexedFact(fact, entities[fact.source], entities[fact.target])
            for turn in facts.keys() & set(fact.turns):
                facts[turn].append(indexed)
    return facts


async def _in_thread(work: Callable[[], T]) -> T:
    """Run the work in a thread. A cancelled caller waits for it: files must not be half written."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        raise


def _token_counts(turns: Iterable[Sequence[NDArray[np.uint16]]]) -> NDArray[np.int64]:
    """Return how many of the turns contain each token."""
    counts = np.zeros(TOKENS, dtype=np.int64)
    for passages in turns:
        if passages:
            counts[np.unique(np.concatenate(passages))] += 1
    return counts


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
            await self._add(group, commits)
            sequence = commits[-1].sequence
            on_batch()
        if catalog.turn_count(group) != version.turns:
            held, present = catalog.turn_ids(group), await self._graph.turn_ids(group)
            await self._remove(group, held - present)
            await self._add_missing(group, present - held, version)
        with catalog.transaction():
            catalog.set_sequence(group, max(sequence, version.sequence))

    async def _add(self, group: GroupId, commits: Sequence[CommittedTurn]) -> None:
        batch = await self._read(group, commits)
        # Embedding takes most of the time; an ingest can start meanwhile.
        await self._graph.pause()
        await self._writer.write(batch)
        self._added += len(commits)

    async def _add_missing(
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
                await self._add(group, lacking)

    async def _read(self, group: GroupId, commits: Sequence[CommittedTurn]) -> TurnBatch:
        """Read the present state of what the turns touched, also in an earlier commit of theirs.

        A turn that was undone and committed again may no longer touch what it touched before.
        """
        catalog = self._parts.catalog
        turns = [turn.receipt.turn_id for turn in commits]
        old_entities, old_facts = catalog.touched(catalog.turn_keys(turns).values())
        touched = old_entities.union(*(turn.entities for turn in commits))
        stated = old_facts.union(*(turn.facts for turn in commits))
        entities = await self._graph.entities(group, sorted(touched))
        facts = await self._graph.facts(group, sorted(stated))
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
        """Remove turns, and read again what they had created or changed."""
        catalog = self._parts.catalog
        for batch in batched(sorted(turns), REMOVED_BATCH):
            keys = [*catalog.turn_keys(batch).values()]
            questions = catalog.questions.of_turns(batch) if keep_questions else {}
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


_SAMPLE = 20


@dataclass(frozen=True, slots=True)
class EmbeddingEstimate:
    """The texts that a catch-up has to embed."""

    turns: int
    passages: int
    tokens: int
    """Of the passages, rather too many than too few."""


async def estimate_embedding(
    graph: FollowedGraph, groups: Sequence[IndexedGroup]
) -> EmbeddingEstimate:
    versions = await graph.versions()
    turns, passages, tokens = 0, 0.0, 0.0
    for group, unread in sorted(unread_commits(groups, versions).items()):
        sample = await graph.commits(group, unread.start - 1, _SAMPLE) if unread else ()
        if sample:
            pending = min(len(unread), versions[group].turns)
            turns += pending
            texts = [passage.text for turn in sample for passage in split_passages(turn.text)]
            passages += pending * len(texts) / len(sample)
            tokens += pending * estimate_tokens(*texts) / len(sample)
    return EmbeddingEstimate(turns, round(passages), round(tokens))
