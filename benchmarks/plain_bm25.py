"""Plain text search, to compare the search with: Okapi BM25 over lower-case words."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence


class PlainBm25:
    """Okapi BM25 (k1 = 1.2, b = 0.75) over lower-case words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.counts = [Counter(words(text)) for text in texts]
        self.lengths = [count.total() for count in self.counts]
        self.mean = sum(self.lengths) / len(texts)
        self.document_frequency = Counter(word for count in self.counts for word in count)

    def scores(self, query: str) -> list[float]:
        terms = {word: self.idf(word) for word in words(query) if word in self.document_frequency}
        return [
            sum(idf * self.term_score(count, index, word) for word, idf in terms.items())
            for index, count in enumerate(self.counts)
        ]

    def idf(self, word: str) -> float:
        document_frequency = self.document_frequency[word]
        return math.log(
            1 + (len(self.counts) - document_frequency + 0.5) / (document_frequency + 0.5)
        )

    def term_score(self, count: Mapping[str, int], index: int, word: str) -> float:
        times = count.get(word, 0)
        return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * self.lengths[index] / self.mean))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
