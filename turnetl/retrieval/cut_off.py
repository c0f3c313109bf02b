"""The cut-off of a search: whether a turn is close to the query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from turnetl.base.terms import Tokenizer, content_words
from turnetl.index.documents import fact_text
from turnetl.index.port import IndexedFact, SearchIndex
from turnetl.retrieval.query import Query
from turnetl.retrieval.ranking import RankedTurn

MIN_CLOSENESS = 0.275
"""Of the score and the weighted familiarity, for a turn that is close to the query.

It is low on purpose: a user skips a wrong hit at a glance, and never sees a hit that is missing.
"""
FAMILIARITY_WEIGHT = 0.35
RARE_TURNS = 2
"""A term of the query that no more turns contain, and not this one, is strange to it."""
MIN_SCORE = 0.15
"""The least score of a close turn if familiarity says nothing: see `FEW_TURNS`."""
FEW_TURNS = 200
"""Among fewer turns most words are rare, so that a missing one is no sign of another subject."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """Tells which turns are close to a query."""

    query: Query
    information: Mapping[str, float]
    """Of each term of the query, by its rarity."""
    rare: frozenset[str]
    is_score_alone: bool
    """Familiarity says nothing: there are few turns, or the query is one word."""

    def is_close(self, ranked: RankedTurn, facts: Sequence[IndexedFact]) -> bool:
        """Return whether a turn is close to the query; to one with a quoted part it always is.

        A turn that contains all terms of the query is close. So is one with a sufficient score,
        more of which is needed the more of the query is strange: a foreign subject has words that
        occur nowhere, and a score that comes from the common words around them.
        """
        if self.query.phrases:
            return True
        text = "\n".join((ranked.turn.text, *map(fact_text, facts)))
        found = Tokenizer().occurring(text, self.information)
        if self.information and self.information.keys() <= found:
            return True
        if self.is_score_alone:
            return ranked.score >= MIN_SCORE
        familiarity = 1 - self._share(self.rare - found)
        return ranked.score + FAMILIARITY_WEIGHT * familiarity >= MIN_CLOSENESS

    def _share(self, terms: frozenset[str]) -> float:
        """Return the share of the query's information that is in these terms."""
        total = sum(self.information.values())
        return sum(self.information[term] for term in terms) / total if total else 0.0


def cut_off(query: Query, index: SearchIndex) -> CutOff:
    """Return the cut-off for a query in an index."""
    frequencies, turns = index.term_frequencies(query.terms)
    is_one_word = len(content_words(query.text).split()) <= 1
    return CutOff(
        query,
        {term: _information(count, turns) for term, count in frequencies.items()},
        frozenset(term for term, count in frequencies.items() if count <= RARE_TURNS),
        is_score_alone=turns < FEW_TURNS or is_one_word,
    )


def _information(matching: int, turns: int) -> float:
    matching = min(matching, turns)
    return log(1 + (turns - matching + 0.5) / (matching + 0.5))
