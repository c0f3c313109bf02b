"""Which entities and facts of a group come near a name or a sentence, nearest first.

Scores are as Neo4j's: (1 + cosine) / 2, a float32 compared with a double.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from turnetl.model import Entity, Fact

Item = TypeVar("Item", Entity, Fact)

_WORD = re.compile(r"\w+(?:[.']\w+)*")
_K, _B = 1.2, 0.75
"""Lucene's."""


def nearest(
    items: Iterable[Item], vector: Sequence[float], *, limit: int, above: float
) -> list[Item]:
    """Return the items whose vectors score higher than `above`, best first, ties in order."""
    held = [(item, item.embedding) for item in items if item.embedding is not None]
    if not held:
        return []
    matrix = np.stack([np.frombuffer(embedding, dtype="<f4") for _, embedding in held])
    query = np.asarray(vector, dtype=np.float32)
    query = query / (float(np.linalg.norm(query)) or 1.0)
    scores = ((1 + matrix @ query) / 2).astype(np.float32).astype(np.float64)
    ranked = np.argsort(-scores, kind="stable")
    return [held[i][0] for i in ranked if scores[i] > above][:limit]


def matching(facts: Iterable[Fact], query: str, *, limit: int) -> list[Fact]:
    """Return the facts that share words with `query`, best first by BM25, ties in order."""
    held = list(facts)
    documents = [_words(f"{fact.name} {fact.text}") for fact in held]
    wanted = set(_words(query))
    frequent = Counter(word for words in documents for word in set(words) & wanted)
    usual = sum(map(len, documents)) / (len(documents) or 1)
    weights = {
        word: math.log(1 + (len(held) - count + 0.5) / (count + 0.5))
        for word, count in frequent.items()
    }
    scores = [_score(words, weights, usual) for words in documents]
    ranked = sorted(range(len(held)), key=lambda i: -scores[i])
    return [held[i] for i in ranked if scores[i] > 0][:limit]


def _score(words: Sequence[str], weights: dict[str, float], usual: float) -> float:
    counts = Counter(word for word in words if word in weights)
    length = 1 - _B + _B * len(words) / usual
    return sum(
        weights[word] * count * (_K + 1) / (count + _K * length) for word, count in counts.items()
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
