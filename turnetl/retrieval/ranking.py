"""Rank turns for a query in stages: candidates by words and by similarity, then one weighted sum.

Every kind of evidence is a number from 0 to about 1 that is comparable between queries: the share
of the query that a text contains, or a cosine. Such numbers can be summed; ranks, or scores
relative to the best one, would make a poor best match look like a good one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from turnetl.base.batched import batched
from turnetl.base.model import Fact
from turnetl.base.relations import DECIDED, PREFERS, REJECTED, SUPERSEDES
from turnetl.index.catalog_state import TOKENS
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import Field, IndexedFact, IndexedTurn, Keys
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.query import Query, contains_phrases


class Evidence(StrEnum):
    """A kind of evidence that a turn answers a query."""

    TEXT_TERMS = "text_terms"
    PROMPT_TERMS = "prompt_terms"
    FACT_TERMS = "fact_terms"
    PASSAGE_TERMS = "passage_terms"
    SIMILARITY = "similarity"
    """Cosine of the best passage."""
    LATE_INTERACTION = "late_interaction"
    SESSION_TERMS = "session_terms"
    """Share of the query that the turn's session contains: what one turn says, others explain."""
    PREVIOUS_TURN = "previous_turn"
    """Score of the turn before: the prompt "do it" refers to it."""


WEIGHTS: Mapping[Evidence, float] = {
    Evidence.TEXT_TERMS: 0.7,
    Evidence.PROMPT_TERMS: 0.2,
    Evidence.FACT_TERMS: 0.25,
    Evidence.PASSAGE_TERMS: 0.3,
    Evidence.SIMILARITY: 1.25,
    Evidence.LATE_INTERACTION: 0.6,
    Evidence.SESSION_TERMS: 0.35,
    Evidence.PREVIOUS_TURN: 0.05,
}
"""A kind that is missing is not computed."""

_FIELDS: Mapping[Evidence, Field] = {
    Evidence.TEXT_TERMS: Field.TEXT,
    Evidence.PROMPT_TERMS: Field.PROMPT,
    Evidence.FACT_TERMS: Field.FACTS,
    Evidence.PASSAGE_TERMS: Field.PASSAGE,
}
MIN_SIMILARITY = 0.2
"""A turn that contains no term of the query matches only if its cosine is at least this."""
_CANDIDATES = 200
"""Turns that each of the first stages proposes."""
_PHRASE_CANDIDATES = 2_000
"""Turns in which a phrase is looked for: those with all its words may not have the phrase."""
_READ = 300
"""Texts that are read with one query, so that memory is bounded."""
_SCORE_DIGITS = 5
"""Equal passages have cosines that differ in later ones, as they are computed in float32."""
_COMPARED = 300
"""Turns for which all evidence is computed: the best ones by that of the first stages."""
RERANKED = 30
"""Turns that a model rates again, if one is asked for."""


@dataclass(frozen=True, slots=True)
class RankedTurn:
    turn: IndexedTurn
    score: float
    """From 0 to 1."""
    evidence: Mapping[Evidence, float]
    relevance: float | None = None
    """A model's rating, from 0 to 1; None if no model rated the turn."""


_Found = dict[Evidence, Mapping[int, float]]
"""What the turns have of each kind of evidence, by their keys."""


def rank(
    query: Query,
    index: PersistentIndex,
    static_model: StaticModel,
    keys: Keys | None,
    weights: Mapping[Evidence, float] = WEIGHTS,
) -> list[RankedTurn]:
    """Return the turns, of `keys` if given, that match, best first; equal ones newest first."""
    return _Ranking(query, index, static_model, weights).rank(keys)


@dataclass(frozen=True, slots=True)
class _Ranking:
    query: Query
    index: PersistentIndex
    static_model: StaticModel
    weights: Mapping[Evidence, float]

    def rank(self, keys: Keys | None) -> list[RankedTurn]:
        proposed = self._proposed(keys)
        if self.query.phrases:
            keys = self._with_phrases(keys, _turns_of(proposed))
            proposed = self._proposed(keys)
        best = self._best_first(self._candidates(keys, proposed), proposed)[:_COMPARED]
        candidates = np.array(sorted(best), dtype=np.int64)
        turns = self.index.turns(candidates.tolist())
        evidence = self._evidence(candidates)
        if Evidence.PREVIOUS_TURN in self.weights:
            scores = self._scores(candidates.tolist(), evidence)
            evidence[Evidence.PREVIOUS_TURN] = {
                key: scores[turn.previous] for key, turn in turns.items() if turn.previous in scores
            }
        scores = self._scores(candidates.tolist(), evidence)
        of_turns = zip(*(_column(of_kind, turns) for of_kind in evidence.values()), strict=True)
        ranked = [
            RankedTurn(turn, scores[key], dict(zip(evidence, of_turn, strict=True)))
            for (key, turn), of_turn in zip(turns.items(), of_turns, strict=True)
        ]
        return sorted(ranked if self.query.phrases else filter(_matches, ranked), key=sort_key)

    def _proposed(self, keys: Keys | None) -> _Found:
        proposed = self._first_stages(keys, _CANDIDATES)
        if similar := proposed.get(Evidence.SIMILARITY):
            proposed[Evidence.SIMILARITY] = {
                key: cosine for key, cosine in similar.items() if cosine >= MIN_SIMILARITY
            }
        return proposed

    def _first_stages(self, keys: Keys | None, limit: int) -> _Found:
        found: _Found = {
            kind: self.index.term_shares(
                field,
                self.query.terms,
                keys,
                limit=limit,
                alternatives=self.query.alternatives,
            )
            for kind, field in _FIELDS.items()
            if kind in self.weights
        }
        if Evidence.SIMILARITY in self.weights:
            found[Evidence.SIMILARITY] = self.index.similarities(
                self.query.vector, keys, limit=limit, search_vector=self.query.search_vector
            )
        return found

    def _candidates(self, keys: Keys | None, proposed: _Found) -> set[int]:
        found = _turns_of(proposed)
        if Evidence.PREVIOUS_TURN in self.weights:
            found.update(self.index.next_turns(found, keys))
        if self.query.phrases and keys is not None:  # no stage may have found why they match
            found.update(keys.tolist())
        return found

    def _best_first(self, found: Collection[int], proposed: _Found) -> list[int]:
        """Return the turns by what the first stages found, best first; equal ones newest first.

        A stage that did not propose a turn counts nothing for it, so that evidence is computed for
        the best ones only: the rest is compared in vain.
        """
        newest_first = sorted(found, reverse=True)
        scores = self._scores(newest_first, proposed)
        return sorted(newest_first, key=scores.__getitem__, reverse=True)

    def _with_phrases(self, keys: Keys | None, proposed: Collection[int]) -> Keys:
        """Return the turns that contain the phrases, of the proposed ones and the likely ones."""
        index, terms, limit = self.index, self.query.phrase_terms, _PHRASE_CANDIDATES
        likely: Iterable[int]
        if terms:
            likely = index.term_shares(Field.TEXT, terms, keys, limit=limit)
        elif keys is None:  # "is it", "=": no index has these
            likely = index.newest(Selection(), limit=limit)
        else:
            likely = keys[-limit:].tolist()
        kept: list[int] = []
        for batch in batched(sorted({*proposed, *likely}), _READ):
            texts = index.texts(batch)
            kept += [key for key, text in texts.items() if contains_phrases(self.query, text)]
        return np.array(sorted(kept), dtype=np.int64)

    def _evidence(self, candidates: Keys) -> _Found:
        """Return each kind of evidence for all candidates: every stage finds only its own best."""
        evidence = self._first_stages(candidates, len(candidates))
        if Evidence.LATE_INTERACTION in self.weights:
            late = late_interaction(self.query, candidates, self.index, self.static_model)
            evidence[Evidence.LATE_INTERACTION] = late
        if Evidence.SESSION_TERMS in self.weights:
            terms, others = self.query.terms, self.query.alternatives
            of_sessions = self.index.session_term_shares(terms, candidates, others)
            evidence[Evidence.SESSION_TERMS] = of_sessions
        return evidence

    def _scores(self, candidates: Sequence[int], evidence: _Found) -> dict[int, float]:
        total = sum(self.weights.values())
        scores = np.zeros(len(candidates))
        for kind, values in evidence.items():
            scores += self.weights[kind] * np.array(_column(values, candidates))
        return dict(zip(candidates, (scores / total).tolist(), strict=True))


def _turns_of(proposed: _Found) -> set[int]:
    return {key for of_stage in proposed.values() for key in of_stage}


def _column(values: Mapping[int, float], candidates: Iterable[int]) -> list[float]:
    return list(map(values.get, candidates, repeat(0.0)))


def _matches(ranked: RankedTurn) -> bool:
    """Return whether the turn, or the one before it, has a term of the query or is similar."""
    evidence = ranked.evidence
    terms = any(evidence.get(kind, 0.0) > 0 for kind in _FIELDS)
    similar = evidence.get(Evidence.SIMILARITY, 0.0) >= MIN_SIMILARITY
    return terms or similar or evidence.get(Evidence.PREVIOUS_TURN, 0.0) > 0


def sort_key(ranked: RankedTurn) -> tuple[float, float, str]:
    """Order turns by score, best first, and equal ones newest first."""
    turn = ranked.turn
    return -round(ranked.score, _SCORE_DIGITS), -turn.started_at.timestamp(), turn.turn_id


def superseded_below(
    ranked: Sequence[RankedTurn],
    facts: Mapping[int, Sequence[IndexedFact]],
    best: Mapping[int, Fact],
) -> list[RankedTurn]:
    """Return the turns with those that match by a decision that ended below what ended it.

    Of a turn whose decisions have not all ended, or whose `best` fact is another one, more counts.

    A turn is moved down only, to the score of the turn above it; others keep their order.
    """
    stated = {hit.turn.key: [one.fact for one in facts[hit.turn.key]] for hit in ranked}
    ended_by = {
        fact.target: key
        for key, of_turn in stated.items()
        for fact in of_turn
        if fact.relation == SUPERSEDES
    }
    ordered = list(ranked)
    # The newest first: a decision may be replaced by one that was itself replaced.
    for hit in sorted(ranked, key=lambda hit: hit.turn.started_at, reverse=True):
        decided = [
            fact for fact in stated[hit.turn.key] if fact.relation in {DECIDED, REJECTED, PREFERS}
        ]
        matching = best.get(hit.turn.key)
        if matching not in decided or any(fact.invalid_at is None for fact in decided):
            continue
        statements = [one.target if one.relation == PREFERS else one.source for one in decided]
        positions = {one.turn.key: place for place, one in enumerate(ordered)}
        places = [positions[ended_by[one]] for one in statements if one in ended_by]
        if places and max(places) > positions[hit.turn.key]:
            above = ordered[max(places)]
            ordered.insert(max(places) + 1, replace(hit, score=min(hit.score, above.score)))
            del ordered[positions[hit.turn.key]]
    return ordered


_POWER = 2
"""Of the cosine: a token that is merely related counts little."""
_FEW_TOKENS = 4_096
"""Fewer tokens are sorted: that is faster than a pass over the whole vocabulary."""


def late_interaction(
    query: Query, keys: Keys, index: PersistentIndex, static_model: StaticModel
) -> dict[int, float]:
    """Return for each turn the score of its best passage, from 0 to its weight.

    A passage scores high if each token of the query has a similar one in it, rare tokens counting
    most; their order and distance make no difference. It finds what other words say, where a mean
    of all tokens is too blurred and equal words are missing.
    """
    passages = index.passage_tokens(keys)
    if not len(passages.keys) or not len(query.tokens):
        return {}
    matched = token_matches(query.tokens, passages.tokens, passages.starts, static_model)
    scores = (_weights(query, index) @ matched) * passages.weights
    firsts = np.flatnonzero(np.diff(passages.keys, prepend=-1))
    best = np.maximum(np.maximum.reduceat(scores, firsts), 0.0)
    return dict(zip(passages.keys[firsts].tolist(), best.tolist(), strict=True))


def described_shares(
    query: Query,
    texts: Sequence[Sequence[int]],
    index: PersistentIndex,
    static_model: StaticModel,
) -> list[float]:
    """Return for each text of tokens the weighted share of the query that it says, from 0 to 1."""
    weights = _weights(query, index)
    starts = np.array([0])
    return [
        float(
            (weights @ token_matches(query.tokens, np.array(one, np.uint16), starts, static_model))[
                0
            ]
        )
        if len(one)
        else 0.0
        for one in texts
    ]


def token_matches(
    wanted: NDArray[np.int64],
    tokens: NDArray[np.uint16],
    starts: NDArray[np.int64],
    static_model: StaticModel,
) -> NDArray[np.float32]:
    """Return how well each text contains each wanted token, from 0 to 1: a row per token.

    The tokens are those of all texts, one text after another, and each starts at one of `starts`.
    There is at least one wanted token, and one in each text.
    """
    distinct, positions = _distinct(tokens)
    cosines = np.maximum(static_model.token_cosines(wanted, distinct), 0) ** _POWER
    return np.stack([np.maximum.reduceat(of_token[positions], starts) for of_token in cosines])


def _weights(query: Query, index: PersistentIndex) -> NDArray[np.float64]:
    """Return the weight of each token of the query; they sum up to 1."""
    matching, turns = index.token_frequencies(query.tokens.tolist())
    matching = np.minimum(matching, turns)
    rarity = np.log(1 + (turns - matching + 0.5) / (matching + 0.5))
    weights: NDArray[np.float64] = rarity / rarity.sum()
    return weights


def _distinct(tokens: NDArray[np.uint16]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct tokens, and the position among them of each token.

    A table of all tokens is faster than sorting half a million tokens; sorting is faster for few.
    """
    if len(tokens) < _FEW_TOKENS:
        distinct, positions = np.unique(tokens, return_inverse=True)
        return distinct.astype(np.intp), positions
    occurs = np.zeros(TOKENS, dtype=np.bool_)
    occurs[tokens] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[tokens]
