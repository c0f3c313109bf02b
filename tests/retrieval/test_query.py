"""A query: its vector with embedders whose texts are all alike, and its quoted phrases."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.errors import BadUsage
from turnetl.base.model import Vector
from turnetl.base.terms import Tokenizer
from turnetl.index.port import Alternatives
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.llm.vectors import Matrix, pack
from turnetl.retrieval.query import Query, analyze, contains_phrases, parse_thesaurus


class SubjectEmbedder:
    """The first number is the same for all texts, the second is for the word `cart`."""

    name = "subjects"
    dimensions = 2

    def __init__(self, shared: float) -> None:
        self._shared = shared

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        rows = np.array([[self._shared, float("cart" in text)] for text in texts])
        return [pack(row / max(float(np.linalg.norm(row)), 1e-9)) for row in rows]

    async def close(self) -> None:
        """Do nothing."""


def query_vector(text: str, shared: float) -> Matrix:
    return asyncio.run(analyze(text, SubjectEmbedder(shared), StaticModel.open())).vector


def test_what_all_texts_of_an_embedder_share_makes_no_query_similar_to_them() -> None:
    assert np.allclose(query_vector("the cart is empty", shared=3), [0, 1], atol=1e-6)


def test_a_vector_of_an_embedder_without_a_shared_direction_stays() -> None:
    assert np.allclose(query_vector("the cart is empty", shared=0), [0, 1], atol=1e-6)


def test_a_query_that_only_has_what_all_texts_share_keeps_its_vector() -> None:
    assert np.allclose(query_vector("anything", shared=3), [1, 0], atol=1e-6)


WORDS = st.text(st.sampled_from("aA\u00df \t\n\u2003=\u017f"), min_size=1, max_size=8)


def query_with(*phrases: str) -> Query:
    return Query("", {}, phrases, {}, np.zeros(0, np.int64), np.zeros(2, np.float32))


@given(st.lists(WORDS, max_size=2), WORDS, WORDS)
def test_a_text_has_a_phrase_whatever_its_case_and_white_space(
    phrases: list[str], before: str, after: str
) -> None:
    normal = [" ".join(phrase.casefold().split()) for phrase in phrases]
    for text in (before + "".join(phrases) + after, before + after):
        expected = all(phrase in " ".join(text.casefold().split()) for phrase in normal)
        assert contains_phrases(query_with(*normal), text) == expected


def test_the_words_of_a_phrase_alone_are_not_the_phrase() -> None:
    assert not contains_phrases(query_with("empty cart"), "The cart is empty, empty: cart.")
    assert contains_phrases(query_with("empty cart"), "An EMPTY\n  cart.")


THESAURUS = parse_thesaurus(
    "# of tests\n\nPR, pull request # a review\nbug, defect, fault\n", "own"
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("merged the PRs", {"pr": (("pull", "request"),)}),
        ("a pull request", {"pull": (("pr",),), "request": (("pr",),)}),
        ("a request to pull", {}),
        ("Bugs", {"bug": (("defect",), ("fault",))}),
        ("", {}),
    ],
)
def test_what_stands_for_the_words_of_a_query_is_of_their_group(
    query: str, expected: Alternatives
) -> None:
    assert THESAURUS.alternatives(Tokenizer().joined(query).split()) == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("bug", "`bug` stands alone"),
        ("bug, BUG", "stands alone"),
        ("bug,, defect", "one to 3 words are expected"),
        ("bug, a word of five words", "not `a word of five words`"),
    ],
)
def test_a_line_of_a_thesaurus_that_says_nothing_is_named(line: str, problem: str) -> None:
    with pytest.raises(BadUsage, match=rf"`own`, line 3: .*(?:{problem})"):
        parse_thesaurus(f"# own\nfix, repair\n{line}\n", "own")


def test_the_thesaurus_of_turnetl_is_valid_and_finds_what_stands_for_a_word() -> None:
    path = Path(__file__).parents[2] / "templates" / "thesaurus.txt"
    found = parse_thesaurus(path.read_text(encoding="utf-8"), path.name).alternatives(["bug"])
    assert ("defect",) in found["bug"]
