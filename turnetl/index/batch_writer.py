"""Write a batch of turns into an index, in the order vectors, words, catalog."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnetl.index.catalog import TOKENS, Catalog
from turnetl.index.documents import TurnDocument, turn_document
from turnetl.index.lexical import LexicalIndex
from turnetl.index.question_table import StoredQuestions, text_digest
from turnetl.index.terms import Tokenizer
from turnetl.index.vectors import PassageRows, PassageVectors
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.llm.vectors import stack
from turnetl.model import CommittedTurn, Entity, Fact, GroupId, TurnId


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


class BatchWriter:
    """Adds turns to an index or replaces them. The caller excludes other writers."""

    def __init__(
        self,
        catalog: Catalog,
        lexical: LexicalIndex,
        vectors: PassageVectors,
        embedder: Embedder,
    ) -> None:
        self._catalog = catalog
        self._lexical = lexical
        self._vectors = vectors
        self._embedder = embedder
        self._tokenizer = Tokenizer()
        self._static_model = StaticModel.open()

    async def write(self, batch: TurnBatch) -> None:
        texts = {turn.receipt.turn_id: turn.text for turn in batch.commits}
        questions = {
            turn: stored
            for turn, stored in batch.questions.items()
            if stored.digest == text_digest(texts[turn])
        }
        with self._catalog.transaction():
            outdated = self._catalog.turn_keys(texts)
            self._catalog.remove_turns(outdated.values())
            keys = {turn.receipt.turn_id: self._catalog.add_turn(turn) for turn in batch.commits}
            self._catalog.put(batch.entities, batch.facts, keys)
            self._catalog.questions.replace(texts, questions.values())
            documents = self._documents(batch.commits, keys, questions)
            counts = self._vectors.append(await self._rows(documents))
            self._lexical.write([document.terms for document in documents], [*outdated.values()])
            self._catalog.add_token_counts(_token_counts(documents))
            self._catalog.record("rows", counts.rows)
            self._catalog.record("tokens", counts.tokens)
            self._catalog.set_sequence(batch.group, batch.commits[-1].sequence)
        self._vectors.remove(np.array([*outdated.values()], dtype=np.int64))

    def _documents(
        self,
        commits: Sequence[CommittedTurn],
        keys: Mapping[TurnId, int],
        questions: Mapping[TurnId, StoredQuestions],
    ) -> list[TurnDocument]:
        facts = self._catalog.facts(keys.values())
        stored = {turn: one.questions for turn, one in questions.items()}
        return [
            turn_document(
                keys[turn.receipt.turn_id],
                turn.text,
                facts[keys[turn.receipt.turn_id]],
                self._tokenizer,
                self._static_model,
                questions=stored.get(turn.receipt.turn_id, ()),
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


def _token_counts(documents: Sequence[TurnDocument]) -> NDArray[np.uint32]:
    """Return how many of the turns contain each token."""
    counts = np.zeros(TOKENS, dtype=np.uint32)
    for document in documents:
        if document.tokens:
            counts[np.unique(np.concatenate(document.tokens))] += 1
    return counts
