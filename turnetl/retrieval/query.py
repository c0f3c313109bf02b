"""A search query: its terms with those that stand for them, its phrases, tokens and vector."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from turnetl.base.errors import BadUsage
from turnetl.base.terms import Tokenizer, content_words, may_occur
from turnetl.index.port import Alternatives
from turnetl.llm.embedders import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.llm.vectors import stack

_MAX_CHARS = 2_000
"""Characters of a query that are used: the beginning of a pasted log."""
_UNRELATED = (
    "Which train leaves for the coast on Sunday morning?",
    "user: Please fix the failing test of the parser.",
    "The recipe needs two cups of flour and one egg.",
    "SELECT name FROM customers WHERE city = 'Oslo'",
    "A quiet river runs through the old town.",
    "Traceback: connection refused by the server",
    "The committee decided to postpone the vote.",
    "Plants turn sunlight into sugar.",
)
"""Texts about different subjects. What their vectors share says nothing about a subject."""
_MIN_REST = 1e-3
_PHRASE = re.compile(r'(?<![A-Za-z0-9_\[({=,:])(?<!\bFile )"([^"\n]{2,})"(?![A-Za-z0-9_\]])')
"""Not the strings of pasted code or of a traceback: these would have to occur as they are."""


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    terms: Mapping[str, float]
    phrases: tuple[str, ...]
    """Quoted texts, which a hit must contain as they are, apart from case and white space."""
    phrase_terms: Mapping[str, float]
    tokens: NDArray[np.int64]
    """The distinct tokens of its words, without those of the most common words."""
    vector: NDArray[np.float32]
    """Of unit length, without the direction that all texts of its embedder share."""
    search_vector: NDArray[np.float32] | None = None
    """The same by the embedder that was chosen for the search; None: there is none."""
    alternatives: Alternatives = field(default_factory=dict)


_MAX_WORDS = 3
"""Of a phrase in a thesaurus."""


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """Groups of words and phrases that stand for each other."""

    groups: Sequence[Sequence[str]] = ()

    def alternatives(self, terms: Sequence[str]) -> Alternatives:
        """Return what stands for the terms of a query, which are in its order.

        What stands for a phrase stands for each of its terms.
        """
        tokenizer, given = Tokenizer(), frozenset(terms)
        parts = {
            tuple(terms[start : start + length])
            for length in range(1, _MAX_WORDS + 1)
            for start in range(len(terms) - length + 1)
        }
        found: dict[str, set[tuple[str, ...]]] = {}
        for phrases in self.groups:
            # Few groups have a word of the query, and only these are split into terms.
            if may_occur(" ".join(phrases), given):
                group = {tuple(tokenizer.joined(phrase).split()) for phrase in phrases} - {()}
                for part in group & parts:
                    for term in part:
                        found.setdefault(term, set()).update(group - {part})
        return {term: tuple(sorted(others)) for term, others in found.items()}


def parse_thesaurus(text: str, name: str) -> Thesaurus:
    """Read a thesaurus: a group a line, its words and phrases separated by commas.

    Raises:
        BadUsage: a line has fewer than two words, or a phrase that is too long; says which line.
    """
    groups = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not (content := line.partition("#")[0].strip()):
            continue
        phrases = [phrase.strip() for phrase in content.split(",")]
        for phrase in phrases:
            if not 1 <= len(phrase.split()) <= _MAX_WORDS:
                raise BadUsage(
                    f"`{name}`, line {number}: between commas, one to {_MAX_WORDS} words are "
                    f"expected, not `{phrase}`"
                )
        if len({phrase.casefold() for phrase in phrases}) == 1:
            raise BadUsage(
                f"`{name}`, line {number}: `{phrases[0]}` stands alone: add a comma and a word "
                "that stands for it, or remove the line"
            )
        groups.append(tuple(phrases))
    return Thesaurus(tuple(groups))


async def analyze(
    text: str,
    embedder: Embedder,
    static_model: StaticModel,
    thesaurus: Thesaurus = Thesaurus(),
    search_embedder: Embedder | None = None,
) -> Query:
    used = used_part(text)
    plain = used.replace('"', " ")
    (tokens,) = static_model.tokenize([content_words(plain) or plain])
    tokenizer, phrases = Tokenizer(), quoted_parts(text)
    return Query(
        text=text,
        terms=dict.fromkeys(tokenizer.count(plain), 1.0),
        phrases=tuple(map(normalized, phrases)),
        phrase_terms=dict.fromkeys(tokenizer.count("\n".join(phrases)), 1.0),
        tokens=np.array(list(dict.fromkeys(tokens)), dtype=np.int64),
        vector=await _vector(plain, embedder),
        search_vector=await _vector(plain, search_embedder) if search_embedder else None,
        alternatives=thesaurus.alternatives(tokenizer.joined(plain).split()),
    )


async def _vector(text: str, embedder: Embedder) -> NDArray[np.float32]:
    vector, *unrelated = stack(await embedder.embed([text, *_UNRELATED]))
    return _without_shared(vector, np.array(unrelated))


def _without_shared(
    vector: NDArray[np.float32], unrelated: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the vector without the mean direction of unrelated texts, with unit length.

    Some models give any two texts a cosine of 0.5. Without that share, unrelated texts have a
    cosine near 0 with every embedder, and cosines can be added to shares of terms.
    """
    shared = unrelated.mean(axis=0)
    shared /= max(float(np.linalg.norm(shared)), _MIN_REST)
    rest: NDArray[np.float32] = vector - (vector @ shared) * shared
    length = float(np.linalg.norm(rest))
    return rest / np.float32(length) if length > _MIN_REST else vector


def used_part(text: str) -> str:
    return text[:_MAX_CHARS]


def quoted_parts(text: str) -> list[str]:
    used = used_part(text).strip()
    return [] if "\n" in used else _PHRASE.findall(used)


def contains_phrases(query: Query, text: str) -> bool:
    if not query.phrases:
        return True
    folded = text.casefold()
    # Words have no white space to normalize, and most texts lack one of them.
    if not all(word in folded for phrase in query.phrases for word in phrase.split()):
        return False
    normalized = " ".join(folded.split())
    return all(phrase in normalized for phrase in query.phrases)


def normalized(text: str) -> str:
    """Return a text as texts are compared: without case, with single spaces."""
    return " ".join(text.casefold().split())
