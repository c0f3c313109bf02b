"""A search query: its terms, its quoted phrases, its tokens and its vector."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnetl.index.terms import Tokenizer, content_words
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.llm.vectors import stack

_MAX_CHARS = 2_000
"""Characters of a query that are used: the beginning of a pasted log."""
_PHRASE = re.compile(r'"([^"\n]{2,})"')


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    terms: Mapping[str, float]
    """The weight of each term."""
    phrases: tuple[str, ...]
    """Quoted texts, which a hit must contain as they are, apart from case and white space."""
    tokens: NDArray[np.int64]
    """The distinct tokens of its words, without those of the most common words."""
    vector: NDArray[np.float32]


async def analyze(text: str, embedder: Embedder, static_model: StaticModel) -> Query:
    """Return a query with everything that the stages of the ranking compare."""
    used = used_part(text)
    plain = used.replace('"', " ")
    (tokens,) = static_model.tokenize([content_words(plain) or plain])
    (vector,) = await embedder.embed([plain])
    return Query(
        text=text,
        terms=dict.fromkeys(Tokenizer().count(plain), 1.0),
        phrases=tuple(_normalize(phrase) for phrase in _PHRASE.findall(used)),
        tokens=np.array(list(dict.fromkeys(tokens)), dtype=np.int64),
        vector=stack([vector])[0],
    )


def used_part(text: str) -> str:
    """Return the part of a query that is compared."""
    return text[:_MAX_CHARS]


def contains_phrases(query: Query, text: str) -> bool:
    """Return whether a text contains every quoted phrase of the query."""
    normalized = _normalize(text) if query.phrases else ""
    return all(phrase in normalized for phrase in query.phrases)


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())
