"""A query: its vector with embedders whose texts are all alike, and its quoted phrases."""

import asyncio
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.model import Vector
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.llm.vectors import Matrix, pack
from turnetl.retrieval.query import Query, analyze, contains_phrases


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
