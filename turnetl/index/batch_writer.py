"""Write a batch of turns into an index, in the order vectors, words, catalog.

What a killed writer left of the first two has keys that the catalog does not hold: readers ignore
it, and the next writer overwrites the rows and removes the words. Turns are removed in the order
catalog, words; the catalog remembers which words are still to be removed.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from turnetl.base.graph_model import CommittedTurn
from turnetl.base.model import Entity, Fact, GroupId, TurnId, Vector
from turnetl.base.terms import Tokenizer
from turnetl.index.catalog import Catalog
from turnetl.index.catalog_state import TOKENS
from turnetl.index.documents import TurnDocument, turn_document
from turnetl.index.location import IndexEmbedder, check_embedder
from turnetl.index.parts import IndexParts
from turnetl.index.port import IndexedFact
from turnetl.index.question_table import StoredQuestions, text_digest
from turnetl.index.vectors import PassageRows
from turnetl.llm.embedders.port import Embedder
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
        """Add the turns of a batch, or replace them."""
        first = self._parts.catalog.last_key() + 1
        keys = {turn.receipt.turn_id: key for key, turn in enumerate(batch.commits, start=first)}
        texts = {turn.receipt.turn_id: turn.text for turn in batch.commits}
        questions = [
            stored
            for turn, stored in batch.questions.items()
            if stored.digest == text_digest(texts[turn])
        ]
        documents = await _in_thread(lambda: self._documents(batch, keys, questions))
        passages = [passage.text for document in documents for passage in document.passages]
        vectors = await self._embedded(passages)
        rows = self._rows(documents, vectors)
        recorded = self._parts.embedder
        check_embedder(recorded, IndexEmbedder(recorded.name, rows.vectors.shape[1]))
        await _in_thread(lambda: self._write(batch, keys, documents, rows, questions))

    async def _embedded(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), _EMBEDDED_BATCH):
            vectors += await self._embedder.embed(texts[start : start + _EMBEDDED_BATCH])
            await asyncio.sleep(0)
        return vectors

    def _write(
        self,
        batch: TurnBatch,
        keys: Mapping[TurnId, int],
        documents: Sequence[TurnDocument],
        rows: PassageRows,
        questions: Sequence[StoredQuestions],
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
            catalog.questions.replace(keys, questions)
            catalog.add_token_counts(_token_counts(document.tokens for document in documents))
            catalog.set_valid_rows(valid)
            catalog.next_generation()
            catalog.set_sequence(batch.group, batch.commits[-1].sequence)
        self._parts.reload()
        self._parts.remove_words()

    def _documents(
        self,
        batch: TurnBatch,
        keys: Mapping[TurnId, int],
        questions: Sequence[StoredQuestions],
    ) -> list[TurnDocument]:
        facts = _facts_by_turn(batch)
        stored = {one.turn_id: one.questions for one in questions}
        return [
            turn_document(
                keys[turn.receipt.turn_id],
                turn.text,
                facts[turn.receipt.turn_id],
                self._tokenizer,
                self._static_model,
                questions=stored.get(turn.receipt.turn_id, ()),
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


def forget_batch(parts: IndexParts, keys: Collection[int]) -> None:
    """Remove turns and what only they state, in a transaction."""
    entities, facts = parts.catalog.touched(keys)
    with parts.catalog.transaction():
        forget_turns(parts, keys)
        parts.catalog.prune(entities, facts)
        parts.catalog.next_generation()
    parts.reload()
    parts.remove_words()


def batches_with_questions(
    catalog: Catalog, questions: Mapping[int, Sequence[str]]
) -> Iterator[TurnBatch]:
    """Yield the turns as the catalog holds them, with these questions.

    Args:
        catalog: the open catalog.
        questions: by the key of the turn; an unknown key is left out.
    """
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
    """Return the facts that each turn states, with their entities."""
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
    """Return how many of the turns contain each token, given the tokens of their passages."""
    counts = np.zeros(TOKENS, dtype=np.int64)
    for passages in turns:
        if passages:
            counts[np.unique(np.concatenate(passages))] += 1
    return counts
