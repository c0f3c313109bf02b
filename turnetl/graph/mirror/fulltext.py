"""The full-text index of facts as Neo4j keeps it, in memory: what its Lucene would answer.

Graphiti lets the model choose among what this index finds, so that other words than Lucene's would
make another graph. Words are those of Unicode's rules (UAX #29) in small letters: `file_name.py` is
one, `src/cart.py` two. Name and sentence of a fact are fields of their own; a word counts in both.
BM25 is reckoned in float32, with lengths kept in a byte, and the same for a word said twice.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_SATURATION = np.float32(1.2)
_LENGTH = np.float32(0.75)
_LONGEST_WORD = 255

_SPACELESS = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SIGN = rf"[^\W_{_SPACELESS}]"
_LETTER = rf"[^\W\d_{_SPACELESS}]"
_WORD = re.compile(
    rf"[{_SPACELESS}]"
    rf"|_*{_SIGN}(?:{_SIGN}|[_\u0300-\u036f\u200d\ufe0f]"
    rf"|(?<={_LETTER})[.:'\u2018\u2019\u00b7](?={_LETTER})"
    rf"|(?<=\d)[.,;'\u2018\u2019](?=\d))*"
)

Scores = NDArray[np.float32]


class FullText:
    """Facts by their words. To add one costs its length, whatever is there already."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.fields = (_Field(), _Field())
        # The same sentence is looked for among a pair's facts and among all.
        self._found: dict[tuple[str, int], list[tuple[str, float]]] = {}

    def add(self, key: str, name: str, text: str) -> None:
        """Add a fact; its key must be new."""
        self.keys.append(key)
        self._found.clear()
        for field, said in zip(self.fields, (name, text), strict=True):
            field.add(words(said))

    def search(self, query: str, limit: int, *more: "FullText") -> list[tuple[str, float]]:
        """Return the best keys with their scores, best first; of equal ones, what came first.

        What is in `more` counts as if it were here and had come later.
        """
        others = [index for index in more if len(index)]
        if others:
            return self._best(query, limit, others)
        known = self._found.get((query, limit))
        if known is None:
            known = self._found[query, limit] = self._best(query, limit, ())
        return known

    def __len__(self) -> int:
        return len(self.keys)

    def _best(self, query: str, limit: int, more: Sequence["FullText"]) -> list[tuple[str, float]]:
        among = (self, *more)
        asked = Counter(words(query))
        statistics = [
            _Statistics.of([index.fields[place] for index in among], asked) for place in (0, 1)
        ]
        scores = np.concatenate([index.scores(statistics) for index in among])
        keys = [key for index in among for key in index.keys] if more else self.keys
        return [(keys[place], float(scores[place])) for place in _best(scores, limit)]

    def scores(self, statistics: Sequence["_Statistics"]) -> Scores:
        """Return the score of every fact, 0 where no word is shared."""
        total = np.zeros(len(self.keys))
        for field, of_field in zip(self.fields, statistics, strict=True):
            field.score(of_field, total)
        return total.astype(np.float32)


def words(text: str) -> Iterator[str]:
    """Yield the words of a text, as Lucene's standard analyzer cuts them."""
    for word in _WORD.findall(text):
        small = word.lower()
        for start in range(0, len(small), _LONGEST_WORD):
            yield small[start : start + _LONGEST_WORD]


class _Field:
    """A field of every fact: which facts have a word, how often, and how long each is."""

    def __init__(self) -> None:
        self.texts = 0
        """Those with a word in them."""
        self.length = 0
        """Words of all of them."""
        self._lengths = array("f")
        self._having: dict[str, tuple[array[int], array[float]]] = {}

    def add(self, said: Iterator[str]) -> None:
        counts = Counter(said)
        length, place = counts.total(), len(self._lengths)
        self.texts += length > 0
        self.length += length
        self._lengths.append(_kept(length))
        for word, times in counts.items():
            places, often = self._having.setdefault(word, (array("l"), array("f")))
            places.append(place)
            often.append(times)

    def having(self, word: str) -> int:
        """Return how many facts have the word."""
        return len(self._having[word][0]) if word in self._having else 0

    def score(self, statistics: "_Statistics", total: NDArray[np.float64]) -> None:
        """Add what each fact has of the words to its score."""
        found = [
            (self._having[word], weight)
            for word, weight in statistics.weights.items()
            if word in self._having
        ]
        if not found:
            return
        places = np.concatenate([np.frombuffer(places, "l") for (places, _), _ in found])
        often = np.concatenate([np.frombuffer(often, "f") for (_, often), _ in found])
        weights = np.repeat(
            np.array([weight for _, weight in found], np.float32),
            [len(places) for (places, _), _ in found],
        )
        lengths = np.frombuffer(self._lengths, "f")[places]
        one = np.float32(1)
        longer = one / (_SATURATION * ((one - _LENGTH) + _LENGTH * lengths / statistics.mean))
        worth = weights - weights / (one + often * longer)
        total += np.bincount(places, worth, len(total))


class _Statistics:
    """How telling each word of a question is in a field, over all indexes that are asked."""

    def __init__(self, weights: Mapping[str, float], mean: np.float32) -> None:
        self.weights = weights
        """A word that is said twice weighs twice."""
        self.mean = mean
        """Words of a text, on average."""

    @classmethod
    def of(cls, fields: Sequence[_Field], asked: Mapping[str, int]) -> "_Statistics":
        texts = sum(field.texts for field in fields)
        mean = sum(field.length for field in fields) / texts if texts else 1.0
        having = {word: sum(field.having(word) for field in fields) for word in asked}
        weights = {
            word: times * math.log(1 + (texts - having[word] + 0.5) / (having[word] + 0.5))
            for word, times in asked.items()
        }
        return cls(weights, np.float32(mean))


def _best(scores: Scores, limit: int) -> list[int]:
    """Return the places of the highest scores above 0, of equal ones the first."""
    found = np.flatnonzero(scores)
    if len(found) > 2 * limit:
        least = np.partition(scores[found], -limit)[-limit]
        found = found[scores[found] >= least]
    best: list[int] = found[np.argsort(-scores[found], kind="stable")][:limit].tolist()
    return best


@lru_cache(maxsize=1024)
def _kept(length: int) -> int:
    """Return a length as it comes out of Lucene's byte: exact to 40, then to four binary digits."""
    exact, digits = 24, 4
    over = length - exact
    shift = max(over.bit_length() - digits, 0) if over > 0 else 0
    return exact + ((over >> shift) << shift) if over > 0 else length
