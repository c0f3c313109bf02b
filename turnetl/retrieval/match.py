"""How well turns match a query: whether they are close to it, and which of its words they lack.

A word that is missing tells more about a subject that never came up than any score. Words are
compared as the index compares them, with what a thesaurus says, as parts of compounds, and in
scripts without spaces by pairs of characters.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from turnetl.base.terms import Tokenizer, content_words, fold
from turnetl.base.time_span import ISO_DATE
from turnetl.index.documents import fact_text
from turnetl.index.lexical import idf
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import NO_ALTERNATIVES, Alternatives, IndexedFact
from turnetl.retrieval.query import Query, quoted_parts, used_part
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
STRONG_SCORE = 0.22
"""The least score of a strong match that lacks a word of the query. Every question whose wording
is close to its turn has such a hit, and of those about foreign subjects about half."""


class Match(StrEnum):
    STRONG = "strong"
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class TurnMatch:
    """How one turn matches a query."""

    is_close: bool
    match: Match
    missing_words: tuple[str, ...]
    """Words of the query that the turn lacks, in their order."""


@dataclass(frozen=True)
class Matcher:
    """Compares turns with a query."""

    query: Query
    information: Mapping[str, float]
    """Of each term of the query, by its rarity."""
    rare: frozenset[str]
    is_score_alone: bool
    """Familiarity says nothing: there are few turns, or the query is one word."""

    def match(self, ranked: RankedTurn, facts: Sequence[IndexedFact]) -> TurnMatch:
        """Return how a turn matches; one with the quoted parts of the query does so strongly.

        A turn that contains all terms of the query is close. So is one with a sufficient score,
        more of which is needed the more of the query is strange: a foreign subject has words that
        occur nowhere. A weak match that has no word of the query at all is not close.
        """
        text = "\n".join((ranked.turn.text, *map(fact_text, facts)))
        found = self._tokenizer.occurring(text, self._terms)
        missing = _missing(self.words, text, found)
        is_strong = self.query.phrases or not missing or ranked.score >= STRONG_SCORE
        has_words = len(missing) < len(self.words) or not self.words
        return TurnMatch(
            is_close=self._is_close(ranked.score, found) and bool(is_strong or has_words),
            match=Match.STRONG if is_strong else Match.WEAK,
            missing_words=missing,
        )

    def missing_from_all(self, matches: Collection[TurnMatch]) -> tuple[str, ...]:
        """Return the words that none of these turns has; without any, also the quoted parts."""
        if matches:
            return missing_from_all(match.missing_words for match in matches)
        quoted = quoted_parts(self.query.text)
        return tuple(quoted or (word.text for word in self.words))

    @cached_property
    def words(self) -> tuple["QueryWord", ...]:
        return query_words(self.query.text, self._tokenizer, self.query.alternatives)

    @cached_property
    def _terms(self) -> frozenset[str]:
        return _terms(self.words).union(self.information)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer()

    def _is_close(self, score: float, found: set[str]) -> bool:
        if self.query.phrases or (self.information and self.information.keys() <= found):
            return True
        if self.is_score_alone:
            return score >= MIN_SCORE
        familiarity = 1 - self._share(self.rare - found)
        return score + FAMILIARITY_WEIGHT * familiarity >= MIN_CLOSENESS

    def _share(self, terms: frozenset[str]) -> float:
        total = sum(self.information.values())
        return sum(self.information[term] for term in terms) / total if total else 0.0


def matcher(query: Query, index: PersistentIndex) -> Matcher:
    frequencies, turns = index.term_frequencies(query.terms)
    return Matcher(
        query,
        {term: idf(min(count, turns), turns) for term, count in frequencies.items()},
        frozenset(term for term, count in frequencies.items() if count <= RARE_TURNS),
        is_score_alone=turns < FEW_TURNS or len(content_words(query.text).split()) <= 1,
    )


def missing_from_all(hits: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the words that are missing from every one, in their order."""
    first, *others = [*hits] or [()]
    return tuple(word for word in first if all(word in other for other in others))


_GENERAL_WORD_LIST = """
about actually after again against ago all almost already also although always am among another
any anybody anyone anything away back because become before being between both came cannot come
decide decided decision did didn didnt doesn doing don done down during each either else ever
every everybody everyone everything exactly few find found gave get give given go goes going
gone got happen happened happens he her here him his however instead isn itself kept know known
later less like made make many may me might mine more most much must myself need needed neither
never nobody none nor nothing now off often once one only other others ours out over own perhaps
put question quite rather really reason remember said same say says see seen several shall she
show since some somebody someone something still such sure take taken talk tell than themselves
though thing things think through together told too took under unless until upon used using
very want wanted was wasn way went were weren whether while whole whom whose within without won
wouldn yes yet

aber als am an auch auf aus bei bin das dass dem den der des die doch ein eine einem einen einer
er es für gab haben habe hat hatte ich ihr im ist kein mit nach nicht noch nur oder schon sich
sie sind und uns unser vom von vor wann war waren warum was weil welche welcher welches wenn wer
werden wie wieder wir wird wo wurde wurden zu zum zur über

au aux avec avons ce cette dans de des du elle en est et il je la le les mais nous on ou
où par pas pour pourquoi quand que quel quelle qui quoi sont sur un une vous été

como cómo con cual cuál cuando cuándo de del donde dónde el ella en es esta este fue la las lo
los nos para pero por porque que qué quien quién se son sobre su sus un una y
"""
_GENERAL_WORDS = frozenset(_GENERAL_WORD_LIST.split())
"""Words of a question that name no subject, beside the stop words: English, German, French and
Spanish ones."""
_CONTRACTION = re.compile(r"['\u2019](?:s|t|re|ve|ll|d|m)\b", re.IGNORECASE)
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_PIECE = re.compile(
    r"[\u0e00-\u0e7f]{2,}|[\u30a0-\u30ff]{2,}|[\u3005\u3400-\u9fff]{2,}|[^\W\u0e00-\u9fff]+"
)
"""Of a text without spaces: Thai, katakana, Han, or a foreign word. Hiragana are endings and
particles, and a single character is most often a part of a verb."""
_CHINESE_GENERAL = re.compile(
    "为什么|什么|原因|理由|怎么样?|怎样|如何|哪[里个些]|为何|我们|你们|他们|她们|是否|有没有|没有"
    "|[的是了吗呢吧在和与把被会不有我你他她它谁何]"
)
_LEAST_SHARE = 0.5
"""Of the pairs of characters of a text without spaces, for it to be there."""

_MAX_WORDS = 60
"""The rest of a pasted log is not compared."""

_MIN_COMPOUND, _MIN_PART = 12, 4
"""Letters of a word that may be a compound of two words, and of each of these."""
_MIN_STEM, _MIN_BEGINNING, _ENDING = 7, 2, 2
"""Letters of a word without its ending, which also counts as found at either end of another word:
of Latin ones, of others; and of the ending."""


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word that names a subject; of a script without spaces, a piece of text."""

    text: str
    ways: tuple[frozenset[str], ...]
    """Sets of terms, of which a text with the word has one completely."""
    is_unspaced: bool = False

    def occurs(self, folded: str) -> bool:
        """Return whether a folded text that has none of these sets of terms has the word."""
        word = fold(self.text)
        if self.is_unspaced:
            pairs = [word[place : place + 2] for place in range(len(word) - 1)]
            return sum(pair in folded for pair in pairs) >= _LEAST_SHARE * len(pairs)
        composed = unicodedata.normalize("NFC", word)
        beginning = unicodedata.normalize("NFKD", composed[:-_ENDING])
        least = _MIN_STEM if word.isascii() else _MIN_BEGINNING
        if len(composed) - _ENDING >= least and _at_an_end(beginning, folded):
            return True
        return len(word) >= _MIN_COMPOUND and word.isalpha() and _has_both_parts(word, folded)


def query_words(
    text: str,
    tokenizer: Tokenizer,
    alternatives: Alternatives = NO_ALTERNATIVES,
) -> tuple[QueryWord, ...]:
    """Return the words of a query that name a subject, each once; an ISO date if there is none."""
    found: dict[str, QueryWord] = {}
    for word in content_words(_CONTRACTION.sub("", used_part(text))).split():
        is_unspaced = _UNSPACED.search(word) is not None
        pieces = _PIECE.findall(_CHINESE_GENERAL.sub(" ", word)) if is_unspaced else [word]
        for piece in pieces:
            if len(piece) > 1:
                one = QueryWord(
                    piece, _ways(piece, tokenizer, alternatives), bool(_UNSPACED.search(piece))
                )
                found.setdefault(fold(piece), one)
    words = [one for one in found.values() if one.text.casefold() not in _GENERAL_WORDS]
    undated = [one for one in words if not re.fullmatch(ISO_DATE, one.text)]
    return tuple((undated or words)[:_MAX_WORDS])


def _ways(
    word: str, tokenizer: Tokenizer, alternatives: Alternatives
) -> tuple[frozenset[str], ...]:
    """Return the sets of terms by which a word may be found."""
    terms = [*tokenizer.count(word)]
    if not terms:
        return ()
    whole, parts = terms[-1], [one for one in terms[:-1] if word.isascii()]
    ways = [frozenset((whole,))]
    if parts and all(len(part) > 1 for part in parts):
        ways.append(frozenset(parts))
    return (*ways, *map(frozenset, alternatives.get(whole, ())))


def missing_words(words: Sequence[QueryWord], text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the words that a text lacks."""
    return _missing(words, text, tokenizer.occurring(text, _terms(words)))


def _terms(words: Sequence[QueryWord]) -> frozenset[str]:
    return frozenset().union(*(way for word in words for way in word.ways))


def _missing(words: Sequence[QueryWord], text: str, found: set[str]) -> tuple[str, ...]:
    """Return the words that a text lacks in which these terms occur."""
    lacking = [word for word in words if not any(way <= found for way in word.ways)]
    if not lacking:
        return ()
    folded = fold(text)
    return tuple(word.text for word in lacking if not word.occurs(folded))


def _has_both_parts(word: str, folded: str) -> bool:
    """Return whether a text has two words that make up this one, whichever comes first."""
    splits = range(_MIN_PART, len(word) - _MIN_PART + 1)
    return any(
        _begins_a_word(word[:place], folded) and _begins_a_word(word[place:], folded)
        for place in splits
    )


def _begins_a_word(text: str, folded: str) -> bool:
    return text in folded and re.search(rf"(?<![^\W_]){re.escape(text)}", folded) is not None


def _at_an_end(text: str, folded: str) -> bool:
    """Return whether a text begins a word, or ends a longer one, as in compounds."""
    if text not in folded:
        return False
    end = rf"(?<=[^\W_]{{{_MIN_PART}}}){re.escape(text)}\w{{0,{_ENDING}}}(?!\w)"
    return _begins_a_word(text, folded) or re.search(end, folded) is not None
