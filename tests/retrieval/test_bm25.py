"""Terms of texts, and the share of a query that a text contains."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import hypothesis.strategies as st
import pytest
from hypothesis import given

from turnetl.retrieval.bm25 import query_shares
from turnetl.retrieval.terms import Tokenizer

TEXTS = st.text(max_size=40) | st.sampled_from(
    ["cart total", "the cart test failed", "src/cart_total.py", "CartTotal", ""]
)


def matches(query: str, texts: Mapping[str, str]) -> list[str]:
    """Return the keys of the texts that contain a part of the query, best first."""
    shares = dict(zip(texts, query_shares(query, list(texts.values()), Tokenizer()), strict=True))
    return sorted((key for key in texts if shares[key] > 0), key=lambda key: (-shares[key], key))


@pytest.mark.parametrize(
    "query", ["EnsureEntireGitignore", "ensureentiregitignore", "ensure", "Entire", "GITIGNORE"]
)
def test_a_camel_case_name_matches_as_a_whole_and_by_its_parts(query: str) -> None:
    texts = {"a": "call `EnsureEntireGitignore()` first", "b": "something else"}
    assert matches(query, texts) == ["a"]


@pytest.mark.parametrize("query", ["src/cart_total.py", "cart_total.py", "cart_total", "total"])
def test_a_path_matches_as_a_whole_and_by_its_parts(query: str) -> None:
    texts = {"a": "edited src/cart_total.py twice", "b": "edited another file"}
    assert matches(query, texts) == ["a"]


def test_the_whole_name_counts_more_than_its_parts() -> None:
    texts = {"parts": "session state and state of session", "whole": "the session_state of it"}
    assert matches("session_state", texts) == ["whole", "parts"]


def test_acronyms_and_numbers_inside_names_are_parts() -> None:
    texts = {"a": "parseHTTPResponse2 failed"}
    assert matches("http", texts) == matches("response", texts) == ["a"]


@pytest.mark.parametrize(
    ("word", "query"),
    [
        ("failing", "failed"),
        ("tests", "test"),
        ("stopped", "stop"),
        ("branches", "branch"),
        ("retries", "retry"),
        ("caches", "caching"),
        ("café", "cafe"),
    ],
)
def test_inflected_forms_of_a_word_match(word: str, query: str) -> None:
    assert matches(query, {"a": f"it was {word} there"}) == ["a"]


def test_scripts_without_spaces_match_by_a_part() -> None:
    texts = {"a": "最新の状態にアップデートしてください", "b": "別の話"}
    assert matches("アップデート", texts) == ["a"]


def test_a_rare_term_counts_more_than_a_frequent_one() -> None:
    texts = {**{f"{n}": "the cart is here" for n in range(9)}, "x": "a walrus sings"}
    assert matches("cart walrus", texts)[0] == "x"


def test_stop_words_match_nothing() -> None:
    assert matches("what was it and why did that", {"a": "why did it do that"}) == []


def test_equal_texts_have_equal_shares() -> None:
    first, second, third = query_shares("cart", ["cart"] * 3, Tokenizer())
    assert first == second == third > 0


@given(texts=st.lists(TEXTS, min_size=1, max_size=6), query=TEXTS)
def test_a_share_lies_between_0_and_1(texts: list[str], query: str) -> None:
    assert all(0 <= share <= 1 for share in query_shares(query, texts, Tokenizer()))


@given(texts=st.lists(TEXTS, max_size=6), query=TEXTS)
def test_a_share_is_the_bm25_score_over_the_best_possible(texts: list[str], query: str) -> None:
    scores, maximum = bm25(texts, query)
    expected = [score / (maximum or 1) for score in scores]
    assert query_shares(query, texts, Tokenizer()) == pytest.approx(expected)


@given(texts=st.lists(TEXTS, max_size=6), query=TEXTS)
def test_a_tokenizer_that_has_seen_other_texts_gives_the_same_shares(
    texts: list[str], query: str
) -> None:
    used = Tokenizer()
    for text in reversed(texts):
        used.count(text)
    assert query_shares(query, texts, used) == query_shares(query, texts, Tokenizer())


def test_data_without_words_has_no_terms() -> None:
    assert Tokenizer().count("—— … ()[]{} \ud83d \x00 _ __") == {}
    assert Tokenizer().count("x" * 5000) == {}


def bm25(texts: Sequence[str], query: str) -> tuple[list[float], float]:
    """Return the Okapi BM25 scores (k1 = 1.2, b = 0.75), by postings, and the highest possible."""
    tokenizer = Tokenizer()
    postings: dict[str, dict[int, int]] = {}
    lengths: Counter[int] = Counter()
    for index, text in enumerate(texts):
        for term, times in tokenizer.count(text).items():
            postings.setdefault(term, {})[index] = times
            lengths[index] += times
    mean = lengths.total() / len(texts) if texts else 0
    scores, maximum = [0.0] * len(texts), 0.0
    for term in tokenizer.count(query):
        found = postings.get(term, {})
        idf = math.log(1 + (len(texts) - len(found) + 0.5) / (len(found) + 0.5))
        maximum += idf * 2.2
        for index, times in found.items():
            scores[index] += (
                idf * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths[index] / mean))
            )
    return scores, maximum
