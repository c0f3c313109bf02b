"""Words and where they occur: BM25 over texts, in memory, growing one text at a time.

An identifier is found whole and by its parts: `EnsureEntireGitignore` is also `ensure`, `entire`
and `gitignore`; `src/cart_total.py` is also `src`, `cart`, `total` and `py`. English endings are
cut lightly, so that "failing" finds "failed". Scripts without spaces are cut into pairs of signs.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

_SATURATION = 1.2
_LENGTH = 0.75

_WORD = re.compile(r"[^\W_]+(?:[._/\\-]+[^\W_]+)*")
_JOINT = re.compile(r"[._/\\-]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_LONGEST = 200
"""Characters of a word: what is longer is data."""

_ENDINGS = (
    ("sses", "ss"),
    ("ies", "y"),
    ("edly", ""),
    ("ing", ""),
    ("ed", ""),
    ("ly", ""),
    ("es", "e"),
    ("s", ""),
)
_NO_PLURAL = ("ss", "us", "is")
_SHORTEST_STEM = 3
_DOUBLES_THAT_STAY = "lsz"

_COMMON_WORDS = """
a an and are as at be been but by can could did do does for from had has have how i if in into is it
its just me my no not of on or our out please should so than that the their them then there these
they this those to up us was we were what when where which who why will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


class Words:
    """Texts to terms. Remembers the words it has met: most of a text is words met before."""

    def __init__(self) -> None:
        self._terms: dict[str, tuple[str, ...]] = {}

    def count(self, text: str) -> Counter[str]:
        """Return how often each term occurs."""
        counts: Counter[str] = Counter()
        for word, times in Counter(_WORD.findall(text)).items():
            for term in self._of(word):
                counts[term] += times
        return counts

    def _of(self, word: str) -> tuple[str, ...]:
        terms = self._terms.get(word)
        if terms is None:
            terms = self._terms[word] = _terms(word)
        return terms


class Lexical:
    """BM25 over keyed texts. Adding a text costs its length, whatever is there already."""

    def __init__(self, texts: Iterable[tuple[str, str]] = (), words: Words | None = None) -> None:
        self._words = words or Words()
        self._postings: dict[str, dict[str, int]] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._length = 0
        for key, text in texts:
            self.add(key, text)

    def add(self, key: str, text: str) -> None:
        """Add a text; one that is there under the same key is replaced."""
        self.remove(key)
        counts = self._words.count(text)
        for term, times in counts.items():
            self._postings.setdefault(term, {})[key] = times
        self._counts[key] = counts
        self._lengths[key] = counts.total()
        self._length += self._lengths[key]

    def remove(self, key: str) -> None:
        """Forget a text; nothing happens if it is not there."""
        counts = self._counts.pop(key, None)
        if counts is None:
            return
        self._length -= self._lengths.pop(key)
        for term in counts:
            of_term = self._postings[term]
            del of_term[key]
            if not of_term:
                del self._postings[term]

    def weights(self, query: str, *more: "Lexical") -> dict[str, float]:
        """Return the query's terms and how telling each is here: its inverse document frequency."""
        among = (self, *more)
        texts = sum(len(index) for index in among)
        return {
            term: rarity(sum(len(index.having(term)) for index in among), texts)
            for term in self._words.count(query)
        }

    def scores(self, query: str, *more: "Lexical") -> dict[str, float]:
        """Return the BM25 score of every text that shares a term with the query."""
        scores: dict[str, float] = {}
        among = (self, *more)
        texts = sum(len(index) for index in among)
        mean = sum(index.length for index in among) / texts if texts else 0.0
        for term, weight in self.weights(query, *more).items():
            for index in among:
                lengths = index.lengths
                for key, times in index.having(term).items():
                    score = weight * saturated(times, lengths[key], mean)
                    scores[key] = scores.get(key, 0.0) + score
        return scores

    def search(self, query: str, limit: int, *more: "Lexical") -> list[tuple[str, float]]:
        """Return the best keys with their scores, best first; equal ones in the order of keys.

        Texts of `more` count as if they were here; their keys must be others.
        """
        scores = self.scores(query, *more)
        return sorted(scores.items(), key=lambda found: (-found[1], found[0]))[:limit]

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def length(self) -> int:
        """Terms of all texts."""
        return self._length

    def having(self, term: str) -> Mapping[str, int]:
        """Return the keys of the texts that have the term, and how often."""
        return self._postings.get(term, {})

    @property
    def lengths(self) -> Mapping[str, int]:
        """Terms of each text, by key."""
        return self._lengths


def shares(query: str, texts: Sequence[str], words: Words) -> list[float]:
    """Return what share of the query each text holds, between 0 and 1, rare words counting most.

    The BM25 score among these texts over the best possible one. Builds no index: for one question.
    """
    counts = [words.count(text) for text in texts]
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    weights = {
        term: rarity(sum(term in count for count in counts), len(counts))
        for term in words.count(query)
    }
    most = best_possible(weights) or 1.0
    return [
        _score(count, weights, length, mean) / most
        for count, length in zip(counts, lengths, strict=True)
    ]


def _score(
    count: Mapping[str, int], weights: Mapping[str, float], length: int, mean: float
) -> float:
    found = ((weight, count[term]) for term, weight in weights.items() if term in count)
    return sum(weight * saturated(times, length, mean) for weight, times in found)


def rarity(having: int, texts: int) -> float:
    """Return how telling a term is that so many of the texts have."""
    return math.log(1 + (texts - having + 0.5) / (having + 0.5))


def saturated(times: int, length: int, mean_length: float) -> float:
    """Return what a term's occurrences in a text are worth: BM25's factor, below 2.2."""
    longer = 1 - _LENGTH + _LENGTH * length / mean_length if mean_length else 1.0
    return times * (_SATURATION + 1) / (times + _SATURATION * longer)


def best_possible(weights: Mapping[str, float]) -> float:
    """Return a score that no text can pass, whatever it says: for scores between 0 and 1."""
    return sum(weights.values()) * (_SATURATION + 1)


def _terms(word: str) -> tuple[str, ...]:
    if len(word) > _LONGEST:
        return ()
    parts = [part for piece in _JOINT.split(word) for part in _PART.findall(piece)]
    plain = [_folded(part) for part in parts]
    terms = [_stem(part) for part in plain if part not in _COMMON]
    whole = _stem(_folded(word))
    if len(parts) > 1 and whole not in terms:
        terms.append(whole)
    return tuple(term for part in terms for term in _spaced(part) if term)


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def _spaced(term: str) -> list[str]:
    if len(term) <= 2 or not _UNSPACED.search(term):  # noqa: PLR2004  a pair is a pair
        return [term]
    return [term[at : at + 2] for at in range(len(term) - 1)]


def _stem(word: str) -> str:
    if not word.isascii():
        return word
    for ending, instead in _ENDINGS:
        stem = word.removesuffix(ending) + instead
        if word.endswith(ending) and _may_be_cut(word, ending, stem):
            return _evened(stem)
    return _evened(word)


def _may_be_cut(word: str, ending: str, stem: str) -> bool:
    if ending == "s" and word.endswith(_NO_PLURAL):
        return False
    return len(stem) >= _SHORTEST_STEM and any(vowel in stem for vowel in "aeiouy")


def _evened(stem: str) -> str:
    """Bring "stopp" and "stop", "cache" and "cach", "move" and "mov" together."""
    if len(stem) > _SHORTEST_STEM + 1 and stem[-1] == stem[-2]:
        stem = stem if stem[-1] in _DOUBLES_THAT_STAY else stem[:-1]
    return stem[:-1] if len(stem) > _SHORTEST_STEM and stem.endswith("e") else stem
