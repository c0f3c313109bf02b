"""The full-text index returns the facts that Neo4j's index returns."""

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given

from turnetl.graph.mirror.fulltext import FullTextIndex, tokenize

TEXTS = st.lists(
    st.sampled_from(["cart", "order", "uses", "the", "src/cart.py", "KeyError", "cart.py"]),
    min_size=1,
    max_size=6,
).map(" ".join)


def index_of(*texts: str) -> FullTextIndex:
    index = FullTextIndex()
    for number, text in enumerate(texts):
        index.add(str(number), "USES", text)
    return index


def keys_of(index: FullTextIndex, query: str, limit: int = 10) -> list[str]:
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
def test_text_is_split_into_terms_as_lucene_splits_it(text: str, expected: list[str]) -> None:
    assert list(tokenize(text)) == expected


def test_a_very_long_word_is_split() -> None:
    assert [len(term) for term in tokenize("a" * 300)] == [255, 45]


def test_the_score_is_that_of_bm25() -> None:
    index = index_of("the cart", "the order of the day")
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    length_factor = 1.2 * (0.25 + 0.75 * 2 / 3.5)
    [(key, score)] = index.search("cart", 10)
    assert key == "0"
    assert score == pytest.approx(idf / (1 + length_factor), rel=1e-6)


def test_the_score_of_a_rare_term_among_many_texts_is_that_of_bm25() -> None:
    index = index_of("the cart", *(f"order{number} text" for number in range(200)), "the cart")
    [(first, score), (last, same)] = index.search("cart", 10)
    idf = math.log(1 + (202 - 2 + 0.5) / (2 + 0.5))
    assert (first, last) == ("0", "201")
    assert score == same == pytest.approx(idf / (1 + 1.2), rel=1e-6)


@given(st.lists(TEXTS, min_size=1, max_size=6), TEXTS)
def test_only_texts_with_a_term_of_the_query_are_returned(texts: list[str], query: str) -> None:
    """Whether few of the values have such a term, or all have one as their relation."""
    words = set(tokenize(query))
    texts = [*texts, *(f"other{number}" for number in range(100))]
    matching = {
        str(number) for number, text in enumerate(texts) if words & {"uses", *tokenize(text)}
    }
    assert set(keys_of(index_of(*texts), query, 200)) == matching


def test_a_term_that_occurs_twice_in_the_query_counts_twice() -> None:
    index = index_of("the cart", "the order")
    assert index.search("cart cart", 1)[0][1] == pytest.approx(2 * index.search("cart", 1)[0][1])


def test_the_relation_of_a_fact_is_a_separate_field() -> None:
    index = index_of("one", "two")
    index.add("2", "FAILED_WITH", "three")
    assert keys_of(index, "failed_with") == ["2"]
    assert keys_of(index, "failed") == []


def test_equal_scores_come_in_order_of_insertion() -> None:
    assert keys_of(index_of("a cart", "b cart", "c cart"), "cart", 2) == ["0", "1"]


def test_lengths_are_encoded_in_one_byte() -> None:
    """Lucene does not distinguish 40 from 41 terms."""
    index = index_of("cart " + "x " * 39, "cart " + "x " * 40, "cart " + "x " * 41)
    first, second, third = index.search("cart", 3)
    assert first[1] == second[1] > third[1]


def test_a_fact_added_later_is_returned_for_a_repeated_query() -> None:
    index = index_of("the order")
    assert keys_of(index, "cart") == []
    index.add("new", "USES", "the cart")
    assert keys_of(index, "cart") == ["new"]


@pytest.mark.parametrize("query", ["", "...", "nothing of this"])
def test_a_query_without_a_common_term_returns_nothing(query: str) -> None:
    assert keys_of(index_of("the cart"), query) == []
    assert keys_of(FullTextIndex(), query) == []


@given(st.lists(TEXTS, max_size=12), st.integers(0, 12), TEXTS)
def test_two_indexes_return_the_results_of_a_single_one(
    texts: list[str], split: int, query: str
) -> None:
    first, second = FullTextIndex(), FullTextIndex()
    for number, text in enumerate(texts):
        (first if number < split else second).add(str(number), "USES", text)
    assert first.search(query, 5, second) == index_of(*texts).search(query, 5)
