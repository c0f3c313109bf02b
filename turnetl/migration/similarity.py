"""How much of what a summary names occurs in a session: words weighted by how rare they are."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
"""One number per session, in their order."""

_WORD = re.compile(r"[^\W_]{3,}")
_NAME = re.compile(r"[\w.-]*[A-Za-z_]\w*(?:[./:_-]\w+)+")
"""A path, a file or an identifier of several parts."""


class SessionTexts:
    """The texts of sessions, indexed by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Index the texts; they are not kept."""
        counts = [Counter(_terms(text)) for text in texts]
        self._size = len(texts)
        postings: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for position, counted in enumerate(counts):
            for term, count in counted.items():
                postings[term][0].append(position)
                postings[term][1].append(1 + math.log(count))
        self._postings = {
            term: (np.array(places), np.array(weights) * self._rarity(len(places)))
            for term, (places, weights) in postings.items()
        }
        norms = np.zeros(self._size)
        for positions, weights in self._postings.values():
            norms[positions] += weights**2
        self._norms = np.sqrt(np.maximum(norms, 1e-12))

    def similarities(self, text: str) -> Scores:
        """Return a similarity of 0 to 1 with each session.

        It is the geometric mean of the cosine, which a long session does not win by its length, and
        of the share of the text's words, by weight, that the session contains.
        """
        cosine, contained = np.zeros(self._size), np.zeros(self._size)
        norm = total = 0.0
        for term, count in Counter(_terms(text)).items():
            positions, weights = self._postings.get(term, _NOWHERE)
            rarity = self._rarity(len(positions))
            weight = (1 + math.log(count)) * rarity
            norm, total = norm + weight**2, total + rarity
            cosine[positions] += weight * weights
            contained[positions] += rarity
        if not norm:
            return cosine
        return np.sqrt(cosine / self._norms / math.sqrt(norm) * contained / total)

    def _rarity(self, sessions: int) -> float:
        """Return the weight of a word that this number of sessions contains."""
        return math.log(1 + self._size / (sessions + 0.5))


_NOWHERE: tuple[npt.NDArray[np.int64], Scores] = (np.array([], dtype=np.int64), np.zeros(0))


def _terms(text: str) -> list[str]:
    lowered = text.lower()
    return [*_WORD.findall(lowered), *_NAME.findall(lowered)]
