"""How well turns answer a question, from several kinds of evidence.

Every kind is a number between 0 and 1 that means the same for every question: the share of the
question's information that a text holds (BM25 over the best possible), or a cosine. Shares can
be added up; ranks, or scores relative to the best one, would make a poor best look like a good one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from turnetl.graph.mirror.lexical import Words, shares
from turnetl.graph.passages import Passage, passages
from turnetl.llm.port import Embedder
from turnetl.llm.vectors import stacked
from turnetl.model import Fact, Receipt, Vector

Scores = NDArray[np.float64]

WEIGHTS: Mapping[str, float] = {
    "words": 0.5,
    "passage_words": 0.5,
    "passage_meaning": 0.75,
    "fact_words": 0.25,
    "fact_meaning": 0.5,
}
"""Tuned on half of the questions of benchmarks/retrieval.py."""
FROM_BEFORE = 0.05
"""Of the turn before in the session: "do it" is about what was said just before."""

_CLOSELY = 300
"""Turns whose passages are all read; of the others only the first."""


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as it is searched; without an embedding it is embedded now."""

    fact: Fact
    words: str
    """The sentence, and the names of the two things it is about."""


@dataclass(frozen=True, slots=True)
class Source:
    """A turn as it is searched."""

    receipt: Receipt
    text: str
    facts: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    source: Source
    score: float
    """Between 0 and 1."""
    facts: tuple[Fact, ...]
    """Best first."""
    passage: str
    """The best one; empty if the turn has no text."""


async def rank(sources: Sequence[Source], query: str, embedder: Embedder) -> list[Ranked]:
    """Return all sources, best first; equal ones newest first.

    Args:
        sources: turns in any order, but those of one session in a row, oldest first.
    """
    question = await _Question.ask(query, embedder)
    found = await evidence(sources, question)
    scores = weighed(found.kinds, WEIGHTS)
    scores = scores + FROM_BEFORE * from_before(sources, scores)
    whole = sum(WEIGHTS.values()) * (1 + FROM_BEFORE)
    places = sorted(range(len(sources)), key=lambda at: _newest(sources[at], float(scores[at])))
    return [found.ranked(sources[at], at, float(scores[at] / whole)) for at in places]


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    vector: NDArray[np.float32]
    words: Words
    embedder: Embedder

    @classmethod
    async def ask(cls, text: str, embedder: Embedder) -> "_Question":
        (vector,) = await embedder.embed([text])
        return cls(text, stacked([vector])[0], Words(), embedder)

    def shares(self, texts: Sequence[str]) -> Scores:
        return np.array(shares(self.text, texts, self.words))

    def near(self, vectors: Sequence[Vector]) -> Scores:
        if not vectors:
            return np.zeros(0)
        return np.maximum((stacked(vectors) @ self.vector).astype(np.float64), 0)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Pieces of turns: whose they are, and how well they answer in words and in meaning."""

    owners: NDArray[np.int64]
    words: Scores
    meaning: Scores

    def best(self, scores: Scores, turns: int) -> Scores:
        """Return the score of each turn's best piece; 0 for a turn without one."""
        best = np.zeros(turns)
        np.maximum.at(best, self.owners, scores)
        return best

    def of(self, turn: int) -> list[int]:
        """Return the turn's pieces as places among its own, best first."""
        mine = np.searchsorted(self.owners, [turn, turn + 1])
        scores = (self.words + self.meaning)[mine[0] : mine[1]]
        return [int(at) for at in np.argsort(-scores, kind="stable")]


@dataclass(frozen=True, slots=True)
class Evidence:
    kinds: Mapping[str, Scores]
    """One number a turn, of each kind."""
    facts: _Pieces
    passages: _Pieces
    cut: Sequence[Sequence[Passage]]

    def ranked(self, source: Source, at: int, score: float) -> Ranked:
        facts = tuple(source.facts[place].fact for place in self.facts.of(at))
        best = self.passages.of(at)
        return Ranked(source, score, facts, self.cut[at][best[0]].text if best else "")


async def evidence(sources: Sequence[Source], question: _Question) -> Evidence:
    turns = len(sources)
    told = await _facts(sources, question)
    kinds = {
        "words": question.shares([source.text for source in sources]),
        "fact_words": told.best(told.words, turns),
        "fact_meaning": told.best(told.meaning, turns),
    }
    cut = _cut(sources, weighed(kinds, WEIGHTS))
    read = await _passages(cut, question)
    kinds["passage_words"] = read.best(read.words, turns)
    kinds["passage_meaning"] = read.best(read.meaning, turns)
    return Evidence(kinds, told, read, cut)


def weighed(kinds: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    total: Scores = sum((weights[kind] * scores for kind, scores in kinds.items()), np.zeros(1))
    return total


def from_before(sources: Sequence[Source], scores: Scores) -> Scores:
    """Return the score of the turn before in the same session; 0 for a session's first."""
    sessions = [(source.receipt.group_id, source.receipt.session_id) for source in sources]
    goes_on = [False, *(a == b for a, b in pairwise(sessions))]
    return np.where(goes_on, np.roll(scores, 1), 0.0)


async def _facts(sources: Sequence[Source], question: _Question) -> _Pieces:
    told = [one for source in sources for one in source.facts]
    unknown = [one.fact.text for one in told if one.fact.embedding is None]
    made = iter(await question.embedder.embed(unknown))
    return _Pieces(
        np.repeat(np.arange(len(sources)), [len(source.facts) for source in sources]),
        question.shares([one.words for one in told]),
        question.near([one.fact.embedding or next(made) for one in told]),
    )


def _cut(sources: Sequence[Source], first: Scores) -> list[list[Passage]]:
    """Cut the texts to passages: all of the turns that look promising, the first of the others."""
    close = set(np.argsort(-first, kind="stable")[:_CLOSELY].tolist())
    cut = (passages(source.text) for source in sources)
    return [pieces if at in close else pieces[:1] for at, pieces in enumerate(cut)]


async def _passages(cut: Sequence[Sequence[Passage]], question: _Question) -> _Pieces:
    texts = [passage.text for pieces in cut for passage in pieces]
    weights = np.array([passage.weight for pieces in cut for passage in pieces])
    return _Pieces(
        np.repeat(np.arange(len(cut)), [len(pieces) for pieces in cut]),
        question.shares(texts) * weights,
        question.near(await question.embedder.embed(texts)) * weights,
    )


def _newest(source: Source, score: float) -> tuple[float, float, str]:
    receipt = source.receipt
    return -round(score, 9), -receipt.started_at.timestamp(), receipt.turn_id
