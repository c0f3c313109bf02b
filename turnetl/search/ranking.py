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

from turnetl.llm.embedders.port import Embedder
from turnetl.model import Entity, Fact, Receipt
from turnetl.search.passages import Passage, passages, telling
from turnetl.search.query import Query, Scores

WEIGHTS: Mapping[str, float] = {
    "words": 0.4,
    "passage_words": 0.5,
    "passage_meaning": 0.75,
    "fact_words": 0.25,
    "fact_meaning": 0.5,
    "thing_words": 0.1,
    "thing_meaning": 0.2,
    "reason": 0.2,
}
"""Tuned on half of the questions of benchmarks/retrieval.py."""
FROM_BEFORE = 0.05
"""Of the turn before in the session: "do it" is about what was said just before."""

FLOOR = 0.2
"""A turn without a word of the question is an answer only if its meaning is as near as this.

It costs no recall in benchmarks/retrieval.py, where almost every right turn shares a word. It is
low on purpose: a hit too many is passed over at a glance, one too few is never seen.
"""
_NAMESAKE = 0.5
"""Names are so short that most lie a little near; only the part above this counts."""
_CLOSELY = 300
"""Turns whose passages are all read; of the others only the first."""


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as it is searched; without an embedding it is embedded now, as are its things."""

    fact: Fact
    words: str
    """The sentence, and the names of the two things it is about."""
    things: tuple[Entity, ...]
    """Those of the two that the graph holds."""


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
    """Return the sources that answer at all, best first; equal ones newest first.

    A source answers if it, or the turn before it in the session, holds a word of the question or
    is near it in meaning.

    Args:
        sources: turns in any order, but those of one session in a row, oldest first.
    """
    question = await Query.ask(query, embedder)
    found = await evidence(sources, question)
    scores = weighed(found.kinds, WEIGHTS)
    scores = scores + FROM_BEFORE * from_before(sources, scores)
    answers = _answers(sources, found.kinds, question)
    answers = np.maximum(answers, from_before(sources, answers))
    whole = sum(WEIGHTS.values()) * (1 + FROM_BEFORE)
    places = sorted(
        np.flatnonzero(answers).tolist(), key=lambda at: _newest(sources[at], float(scores[at]))
    )
    return [found.ranked(sources[at], at, float(scores[at] / whole)) for at in places]


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


async def evidence(sources: Sequence[Source], question: Query) -> Evidence:
    turns = len(sources)
    told = await _facts(sources, question)
    things = await _things(sources, question)
    reasons = question.reasons([one.fact.text for source in sources for one in source.facts])
    kinds = {
        "words": question.shares([source.text for source in sources]),
        "fact_words": told.best(told.words, turns),
        "fact_meaning": told.best(told.meaning, turns),
        "thing_words": things.best(things.words, turns),
        "thing_meaning": things.best(things.meaning, turns),
        "reason": told.best((told.words + told.meaning) * reasons / 2, turns),
    }
    cut = _cut(sources, weighed(kinds, WEIGHTS), question)
    read = await _passages(cut, question)
    kinds["passage_words"] = read.best(read.words, turns)
    kinds["passage_meaning"] = read.best(read.meaning, turns)
    return Evidence(
        kinds,
        _Pieces(told.owners, told.words + things.words, told.meaning + things.meaning),
        read,
        cut,
    )


def weighed(kinds: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    total: Scores = sum((weights[kind] * scores for kind, scores in kinds.items()), np.zeros(1))
    return total


def from_before(sources: Sequence[Source], scores: Scores) -> Scores:
    """Return the score of the turn before in the same session; 0 for a session's first."""
    sessions = [(source.receipt.group_id, source.receipt.session_id) for source in sources]
    goes_on = [False, *(a == b for a, b in pairwise(sessions))]
    return np.where(goes_on, np.roll(scores, 1), 0.0)


def _answers(sources: Sequence[Source], kinds: Mapping[str, Scores], question: Query) -> Scores:
    """Return 1 for each turn that holds a word or is near in meaning, else 0."""
    words = question.asked([_all_of(source) for source in sources])
    near = np.maximum(kinds["fact_meaning"], kinds["passage_meaning"]) >= FLOOR
    return (words | near | (kinds["thing_meaning"] > 0)).astype(np.float64)


def _all_of(source: Source) -> str:
    things = {thing.uuid: _said_of(thing) for one in source.facts for thing in one.things}
    return "\n".join((source.text, *(one.words for one in source.facts), *things.values()))


async def _facts(sources: Sequence[Source], question: Query) -> _Pieces:
    told = [one for source in sources for one in source.facts]
    texts, vectors = [one.fact.text for one in told], [one.fact.embedding for one in told]
    return _Pieces(
        np.repeat(np.arange(len(sources)), [len(source.facts) for source in sources]),
        question.shares([one.words for one in told]),
        await question.near(texts, vectors),
    )


async def _things(sources: Sequence[Source], question: Query) -> _Pieces:
    """Return for each fact how well the better one of its things answers."""
    told = [one for source in sources for one in source.facts]
    things = list({thing.uuid: thing for one in told for thing in one.things}.values())
    places = {thing.uuid: place for place, thing in enumerate(things)}
    names, vectors = [one.name for one in things], [one.embedding for one in things]
    words = question.shares([_said_of(thing) for thing in things])
    near = await question.near(names, vectors)
    meaning = np.maximum(near - _NAMESAKE, 0) / (1 - _NAMESAKE)
    of = [[places[thing.uuid] for thing in one.things] for one in told]
    return _Pieces(
        np.repeat(np.arange(len(sources)), [len(source.facts) for source in sources]),
        np.array([words[mine].max(initial=0) for mine in of]),
        np.array([meaning[mine].max(initial=0) for mine in of]),
    )


def _said_of(thing: Entity) -> str:
    return " ".join((thing.name, *thing.labels, thing.summary))


def _cut(sources: Sequence[Source], first: Scores, question: Query) -> list[list[Passage]]:
    """Cut the texts to passages: those of the turns that look promising, one of the others."""
    close = set(np.argsort(-first, kind="stable")[:_CLOSELY].tolist())
    cut = (passages(source.text) for source in sources)
    return [
        telling(pieces, question.shares) if at in close else pieces[:1]
        for at, pieces in enumerate(cut)
    ]


async def _passages(cut: Sequence[Sequence[Passage]], question: Query) -> _Pieces:
    texts = [passage.text for pieces in cut for passage in pieces]
    weights = np.array([passage.weight for pieces in cut for passage in pieces])
    return _Pieces(
        np.repeat(np.arange(len(cut)), [len(pieces) for pieces in cut]),
        question.shares(texts) * weights,
        await question.near(texts, [None] * len(texts)) * weights,
    )


def _newest(source: Source, score: float) -> tuple[float, float, str]:
    receipt = source.receipt
    return -round(score, 9), -receipt.started_at.timestamp(), receipt.turn_id
