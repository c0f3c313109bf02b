"""From a committed turn to what the index holds of it: terms, passages and tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnetl.base.terms import Tokenizer
from turnetl.episode_text.passages import Passage, split_passages, user_text
from turnetl.index.lexical import TurnTerms
from turnetl.index.port import Field, IndexedFact
from turnetl.llm.embedders.static_model import StaticModel

_MAX_EMBEDDED = 1_000
"""Passages of one turn that get a vector: half a megabyte of text. The words of all are indexed."""
_QUESTION_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class TurnDocument:
    terms: TurnTerms
    passages: Sequence[Passage]
    """Those that get a vector."""
    tokens: Sequence[NDArray[np.uint16]]
    """The distinct tokens of each passage, ascending."""


def turn_document(
    key: int,
    text: str,
    facts: Sequence[IndexedFact],
    tokenizer: Tokenizer,
    static_model: StaticModel,
    *,
    questions: Sequence[str] = (),
) -> TurnDocument:
    """Return what is indexed of a turn, with the questions that it answers as further passages."""
    of_questions = _question_passages(questions)
    terms = turn_terms(key, text, facts, tokenizer, questions=questions)
    embedded = [*_evenly_spaced(split_passages(text)), *of_questions]
    tokens = static_model.tokenize([passage.text for passage in embedded])
    return TurnDocument(
        terms, embedded, [np.unique(np.asarray(of_one, dtype=np.uint16)) for of_one in tokens]
    )


def turn_terms(
    key: int,
    text: str,
    facts: Sequence[IndexedFact],
    tokenizer: Tokenizer,
    *,
    questions: Sequence[str],
) -> TurnTerms:
    return TurnTerms(
        key,
        {field: tokenizer.joined(value) for field, value in turn_texts(text, facts).items()},
        [
            tokenizer.joined(text)
            for text in (*(passage.text for passage in split_passages(text)), *questions)
        ],
    )


def turn_texts(text: str, facts: Sequence[IndexedFact]) -> Mapping[Field, str]:
    """Return the texts by which a turn is found, but for its passages."""
    return {
        Field.TEXT: text,
        Field.PROMPT: user_text(text),
        Field.FACTS: _facts_text(facts),
    }


def indexed_passages(text: str, questions: Sequence[str]) -> Sequence[Passage]:
    """Return the passages of a turn that get a vector, with the questions that it answers."""
    return [*embedded_passages(text), *_question_passages(questions)]


def _question_passages(questions: Sequence[str]) -> list[Passage]:
    return [Passage(question, _QUESTION_WEIGHT) for question in questions]


def embedded_passages(text: str) -> Sequence[Passage]:
    """Return the passages of a text that get a vector, in the order of their rows."""
    return _evenly_spaced(split_passages(text))


def _evenly_spaced(passages: Sequence[Passage]) -> Sequence[Passage]:
    """Return at most `_MAX_EMBEDDED` passages, the first and the last among them."""
    if len(passages) <= _MAX_EMBEDDED:
        return passages
    positions = np.linspace(0, len(passages) - 1, _MAX_EMBEDDED).astype(int)
    return [passages[position] for position in positions.tolist()]


def _facts_text(facts: Sequence[IndexedFact]) -> str:
    """Return the texts of the facts, and once each the names and labels of their entities.

    Without their summaries, which quote facts of other turns and change with them.
    """
    entities = {end.uuid: end for indexed in facts for end in (indexed.source, indexed.target)}
    described = (" ".join((entity.name, *entity.labels)) for entity in entities.values())
    return "\n".join((*(indexed.fact.text for indexed in facts), *described))


def fact_text(indexed: IndexedFact) -> str:
    return f"{indexed.fact.text} {indexed.source.name} {indexed.target.name}"
