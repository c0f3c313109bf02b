"""Words of synthetic facts, as frequent as those of facts from real archives.

The frequency of a word falls with its rank to the power of -1 (Zipf's law). Twice as many facts
have 1.38 times as many words (Heaps' law), so that 100,000 have about 20,000.
`python -m benchmarks.word_frequencies` prints the figures of the archives and of these words.
"""

import numpy as np

EXPONENT = 1.0
VOCABULARY = 20_000
LENGTHS = (5, 7, 7, 8, 10, 12, 13, 15, 17, 19, 22, 25, 27, 30, 33, 37, 39, 43, 45, 49)
"""Terms of a fact: one out of twenty facts has each."""
RELATIONS = (
    ("ANSWERED", 26, 0.28),
    ("ASKED", 14, 0.19),
    ("DESCRIBED", None, 0.12),
    ("RAN", 1_162, 0.11),
    ("DECIDED", 52, 0.08),
    ("MODIFIED", 1_203, 0.07),
    ("EXPLAINED", 1_848, 0.06),
)
"""With the rank of the same word in the sentences, and the share of the facts."""


class FactWords:
    """Draws sentences and relations, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        frequencies = np.arange(1, VOCABULARY + 1) ** -EXPONENT
        self._cumulative = np.cumsum(frequencies / frequencies.sum())
        self._words = [f"word{rank}" for rank in range(1, VOCABULARY + 1)]
        for relation, rank, _ in RELATIONS:
            if rank is not None:
                self._words[rank - 1] = relation.lower()
        self._relations = [relation for relation, _, _ in RELATIONS]
        self._shares = np.cumsum([share for _, _, share in RELATIONS])

    def sentence(self) -> str:
        length = LENGTHS[self._chance.integers(len(LENGTHS))]
        ranks = self._cumulative.searchsorted(self._chance.random(length))
        return " ".join([self._words[min(rank, VOCABULARY - 1)] for rank in ranks.tolist()])

    def relation(self) -> str:
        drawn = self._shares.searchsorted(self._chance.random() * self._shares[-1])
        return self._relations[min(int(drawn), len(self._relations) - 1)]
