"""Facts by their words, as Neo4j's full-text index finds them."""

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given

from turnetl.graph.mirror.fulltext import FullTextIndex, tokenize

SAID = st.lists(
    st.sampled_from(["cart", "order", "uses", "the", "src/cart.py", "KeyError", "cart.py"]),
    min_size=1,
    max_size=6,
).map(" ".join)


def index_of(*texts: str) -> FullTextIndex:
    index = FullTextIndex()
    for place, text in enumerate(texts):
        index.add(str(place), "USES", text)
    return index


def found(index: FullTextIndex, query: str, limit: int = 10) -> list[str]:
    return [key for key, _ in index.search(query, limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file_name.py", ["file_name.py"]),
        ("src/Cart.py:12", ["src", "cart.py", "12"]),
        ("__init__.py isn't here", ["__init__", "py", "isn't", "here"]),
        ("v1.2 costs 1,000.50", ["v1.2", "costs", "1,000.50"]),
        ("turn2.py", ["turn2", "py"]),
        ("a-b a+b (c) `d`", ["a", "b", "a", "b", "c", "d"]),
        ("key:value ends.", ["key:value", "ends"]),
        ("日本 カート über", ["日", "本", "カート", "über"]),
        ("— … !", []),
    ],
)
def test_words_are_cut_as_lucene_cuts_them(text: str, expected: list[str]) -> None:
    assert list(tokenize(text)) == expected


def test_a_word_of_very_many_letters_comes_in_pieces() -> None:
    assert [len(word) for word in tokenize("a" * 300)] == [255, 45]


def test_the_score_is_that_of_bm25() -> None:
    index = index_of("the cart", "the order of the day")
    rarity = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    longer = 1.2 * (0.25 + 0.75 * 2 / 3.5)
    [(key, score)] = index.search("cart", 10)
    assert key == "0"
    assert score == pytest.approx(rarity / (1 + longer), rel=1e-6)


def test_a_word_that_is_asked_for_twice_counts_twice() -> None:
    index = index_of("the cart", "the order")
    assert index.search("cart cart", 1)[0][1] == pytest.approx(2 * index.search("cart", 1)[0][1])


def test_the_kind_of_a_fact_is_a_field_of_its_own() -> None:
    index = index_of("one", "two")
    index.add("2", "FAILED_WITH", "three")
    assert found(index, "failed_with") == ["2"]
    assert found(index, "failed") == []


def test_of_equally_good_ones_the_first_come_first() -> None:
    assert found(index_of("a cart", "b cart", "c cart"), "cart", 2) == ["0", "1"]


def test_lengths_are_kept_in_a_byte() -> None:
    """Between forty and forty-two words Lucene sees no difference."""
    index = index_of("cart " + "x " * 39, "cart " + "x " * 40, "cart " + "x " * 41)
    first, second, third = index.search("cart", 3)
    assert first[1] == second[1] > third[1]


def test_what_is_added_is_found_by_a_query_that_was_asked_before() -> None:
    index = index_of("the order")
    assert found(index, "cart") == []
    index.add("new", "USES", "the cart")
    assert found(index, "cart") == ["new"]


@pytest.mark.parametrize("query", ["", "...", "nothing of this"])
def test_what_shares_no_word_is_not_found(query: str) -> None:
    assert found(index_of("the cart"), query) == []
    assert found(FullTextIndex(), query) == []


@given(st.lists(SAID, max_size=12), st.integers(0, 12), SAID)
def test_two_indexes_answer_as_one(texts: list[str], cut: int, query: str) -> None:
    below, above = FullTextIndex(), FullTextIndex()
    for place, text in enumerate(texts):
        (below if place < cut else above).add(str(place), "USES", text)
    assert below.search(query, 5, above) == index_of(*texts).search(query, 5)
