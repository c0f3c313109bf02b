"""Rank turns for a query: several kinds of evidence, one weighted sum.

Every kind of evidence is a number from 0 to 1 that is comparable between queries: the share of the
query that a text contains (BM25 over the best possible), or a cosine. Such numbers can be summed;
ranks, or scores relative to the best one, would make a poor best match look like a good one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from turnetl.llm.embedders.port import Embedder
from turnetl.model import Entity, Fact, Receipt
from turnetl.retrieval.passages import Passage, select_passages, split_passages
from turnetl.retrieval.query import Query, Scores

WEIGHTS: Mapping[str, float] = {
    "text_terms": 0.4,
    "passage_terms": 0.5,
    "passage_similarity": 0.75,
    "fact_terms": 0.25,
    "fact_similarity": 0.5,
    "entity_terms": 0.1,
    "entity_similarity": 0.2,
    "reason": 0.2,
}
"""Weight of each kind of evidence. Tuned on half of the questions of benchmarks/retrieval.py."""
PREVIOUS_TURN_WEIGHT = 0.05
"""Weight of the evidence of the previous turn of the session: the prompt "do it" refers to it."""

MIN_SIMILARITY = 0.2
"""A turn that contains no term of the query is a hit only if its cosine is at least this.

It costs no recall in benchmarks/retrieval.py, where almost every correct turn contains a term. It
is low on purpose: a user skips a wrong hit at a glance, and never sees a hit that is missing.
"""
_MIN_NAME_SIMILARITY = 0.5
"""Names are so short that most cosines are above 0; only the part above this counts."""
_FULLY_EMBEDDED_TURNS = 300
"""Turns whose passages are all compared; of the others only the first passage is."""


@dataclass(frozen=True, slots=True)
class SearchableFact:
    """A fact and its entities; those without an embedding are embedded during the search."""

    fact: Fact
    text: str
    """The fact's text and the names of its two entities."""
    entities: tuple[Entity, ...]
    """Those of the two that the graph holds."""


@dataclass(frozen=True, slots=True)
class SearchableTurn:
    receipt: Receipt
    text: str
    facts: tuple[SearchableFact, ...]


@dataclass(frozen=True, slots=True)
class RankedTurn:
    turn: SearchableTurn
    score: float
    """Score of the turn, from 0 to 1."""
    facts: tuple[Fact, ...]
    """Best first."""
    passage: str
    """The best one; empty if the turn has no text."""


async def rank(
    turns: Sequence[SearchableTurn], query_text: str, embedder: Embedder
) -> list[RankedTurn]:
    """Return the turns that match, best first; equal ones newest first.

    A turn matches if it, or the turn before it in the session, contains a term of the query or is
    similar to it.

    Args:
        turns: turns of all groups; those of one session are adjacent, oldest first.
        query_text: the query.
        embedder: embeds the query and texts without a stored embedding.
    """
    query = await Query.embed(query_text, embedder)
    evidence = await collect_evidence(turns, query)
    scores = weighted_sum(evidence.kinds, WEIGHTS)
    scores = scores + PREVIOUS_TURN_WEIGHT * previous_turn_scores(turns, scores)
    matches = _matches(turns, evidence.kinds, query)
    matches = np.maximum(matches, previous_turn_scores(turns, matches))
    maximum = sum(WEIGHTS.values()) * (1 + PREVIOUS_TURN_WEIGHT)
    order = sorted(
        np.flatnonzero(matches).tolist(),
        key=lambda position: _sort_key(turns[position], float(scores[position])),
    )
    return [
        evidence.ranked(turns[position], position, float(scores[position] / maximum))
        for position in order
    ]


@dataclass(frozen=True, slots=True)
class _PartScores:
    """Scores of the parts of turns: of their facts or of their passages."""

    turns: NDArray[np.int64]
    """The position of each part's turn, ascending."""
    terms: Scores
    similarity: Scores

    def best_per_turn(self, scores: Scores, turns: int) -> Scores:
        """Return the score of each turn's best part; 0 for a turn without one."""
        best = np.zeros(turns)
        np.maximum.at(best, self.turns, scores)
        return best

    def order_within(self, turn: int) -> list[int]:
        """Return the positions of the turn's parts among its own, best first."""
        start, end = np.searchsorted(self.turns, [turn, turn + 1])
        scores = (self.terms + self.similarity)[start:end]
        return [int(position) for position in np.argsort(-scores, kind="stable")]


@dataclass(frozen=True, slots=True)
class Evidence:
    kinds: Mapping[str, Scores]
    """One number per turn, by the keys of `WEIGHTS`."""
    facts: _PartScores
    passages: _PartScores
    passages_by_turn: Sequence[Sequence[Passage]]

    def ranked(self, turn: SearchableTurn, position: int, score: float) -> RankedTurn:
        facts = tuple(turn.facts[number].fact for number in self.facts.order_within(position))
        best = self.passages.order_within(position)
        return RankedTurn(
            turn, score, facts, self.passages_by_turn[position][best[0]].text if best else ""
        )


async def collect_evidence(turns: Sequence[SearchableTurn], query: Query) -> Evidence:
    count = len(turns)
    facts = await _fact_scores(turns, query)
    entities = await _entity_scores(turns, query)
    reasons = query.gives_reason([fact.fact.text for turn in turns for fact in turn.facts])
    kinds = {
        "text_terms": query.term_shares([turn.text for turn in turns]),
        "fact_terms": facts.best_per_turn(facts.terms, count),
        "fact_similarity": facts.best_per_turn(facts.similarity, count),
        "entity_terms": entities.best_per_turn(entities.terms, count),
        "entity_similarity": entities.best_per_turn(entities.similarity, count),
        "reason": facts.best_per_turn((facts.terms + facts.similarity) * reasons / 2, count),
    }
    passages_by_turn = _passages(turns, weighted_sum(kinds, WEIGHTS), query)
    passages = await _passage_scores(passages_by_turn, query)
    kinds["passage_terms"] = passages.best_per_turn(passages.terms, count)
    kinds["passage_similarity"] = passages.best_per_turn(passages.similarity, count)
    facts_with_entities = _PartScores(
        facts.turns, facts.terms + entities.terms, facts.similarity + entities.similarity
    )
    return Evidence(kinds, facts_with_entities, passages, passages_by_turn)


def weighted_sum(kinds: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    total: Scores = sum((weights[kind] * scores for kind, scores in kinds.items()), np.zeros(1))
    return total


def previous_turn_scores(turns: Sequence[SearchableTurn], scores: Scores) -> Scores:
    """Return the score of the turn before in the same session; 0 for a session's first turn."""
    sessions = [(turn.receipt.group_id, turn.receipt.session_id) for turn in turns]
    continues = [False, *(before == after for before, after in pairwise(sessions))]
    return np.where(continues, np.roll(scores, 1), 0.0)


def _matches(turns: Sequence[SearchableTurn], kinds: Mapping[str, Scores], query: Query) -> Scores:
    """Return 1 for each turn that contains a term or is similar, else 0."""
    has_term = query.contains_term([_all_texts(turn) for turn in turns])
    similarity = np.maximum(kinds["fact_similarity"], kinds["passage_similarity"])
    is_similar = (similarity >= MIN_SIMILARITY) | (kinds["entity_similarity"] > 0)
    return (has_term | is_similar).astype(np.float64)


def _all_texts(turn: SearchableTurn) -> str:
    entities = {
        entity.uuid: _entity_text(entity) for fact in turn.facts for entity in fact.entities
    }
    return "\n".join((turn.text, *(fact.text for fact in turn.facts), *entities.values()))


async def _fact_scores(turns: Sequence[SearchableTurn], query: Query) -> _PartScores:
    facts = [fact for turn in turns for fact in turn.facts]
    texts = [fact.fact.text for fact in facts]
    vectors = [fact.fact.embedding for fact in facts]
    return _PartScores(
        _turn_positions([turn.facts for turn in turns]),
        query.term_shares([fact.text for fact in facts]),
        await query.similarity(texts, vectors),
    )


async def _entity_scores(turns: Sequence[SearchableTurn], query: Query) -> _PartScores:
    """Return for each fact the scores of the better one of its entities."""
    facts = [fact for turn in turns for fact in turn.facts]
    entities = list({entity.uuid: entity for fact in facts for entity in fact.entities}.values())
    position = {entity.uuid: index for index, entity in enumerate(entities)}
    terms = query.term_shares([_entity_text(entity) for entity in entities])
    vectors = [entity.embedding for entity in entities]
    cosines = await query.similarity([entity.name for entity in entities], vectors)
    similarity = np.maximum(cosines - _MIN_NAME_SIMILARITY, 0) / (1 - _MIN_NAME_SIMILARITY)
    positions = [[position[entity.uuid] for entity in fact.entities] for fact in facts]
    return _PartScores(
        _turn_positions([turn.facts for turn in turns]),
        np.array([terms[of_fact].max(initial=0) for of_fact in positions]),
        np.array([similarity[of_fact].max(initial=0) for of_fact in positions]),
    )


def _entity_text(entity: Entity) -> str:
    return " ".join((entity.name, *entity.labels, entity.summary))


def _passages(
    turns: Sequence[SearchableTurn], preliminary: Scores, query: Query
) -> list[list[Passage]]:
    """Split the texts: all passages of the turns with the best preliminary scores, else one."""
    best = set(np.argsort(-preliminary, kind="stable")[:_FULLY_EMBEDDED_TURNS].tolist())
    split = (split_passages(turn.text) for turn in turns)
    return [
        select_passages(passages, query.term_shares) if turn in best else passages[:1]
        for turn, passages in enumerate(split)
    ]


async def _passage_scores(
    passages_by_turn: Sequence[Sequence[Passage]], query: Query
) -> _PartScores:
    texts = [passage.text for passages in passages_by_turn for passage in passages]
    weights = np.array([passage.weight for passages in passages_by_turn for passage in passages])
    return _PartScores(
        _turn_positions(passages_by_turn),
        query.term_shares(texts) * weights,
        await query.similarity(texts, [None] * len(texts)) * weights,
    )


def _turn_positions(parts_by_turn: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(parts_by_turn)), [len(parts) for parts in parts_by_turn])


def _sort_key(turn: SearchableTurn, score: float) -> tuple[float, float, str]:
    """Best first, then newest first."""
    receipt = turn.receipt
    return -round(score, 9), -receipt.started_at.timestamp(), receipt.turn_id
