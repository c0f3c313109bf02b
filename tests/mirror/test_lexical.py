import hypothesis.strategies as st
import pytest
from hypothesis import given

from turnetl.graph.mirror.bm25 import Lexical, Words, best_possible, shares

TEXTS = st.text(max_size=40) | st.sampled_from(
    ["cart total", "the cart test failed", "src/cart_total.py", "CartTotal", ""]
)


def found(lexical: Lexical, query: str) -> list[str]:
    return [key for key, _ in lexical.search(query, 10)]


@pytest.mark.parametrize(
    "query", ["EnsureEntireGitignore", "ensureentiregitignore", "ensure", "Entire", "GITIGNORE"]
)
def test_a_camel_case_name_is_found_whole_and_by_its_parts(query: str) -> None:
    lexical = Lexical([("a", "call `EnsureEntireGitignore()` first"), ("b", "something else")])
    assert found(lexical, query) == ["a"]


@pytest.mark.parametrize("query", ["src/cart_total.py", "cart_total.py", "cart_total", "total"])
def test_a_path_is_found_whole_and_by_its_parts(query: str) -> None:
    lexical = Lexical([("a", "edited src/cart_total.py twice"), ("b", "edited another file")])
    assert found(lexical, query) == ["a"]


def test_the_whole_name_counts_more_than_its_parts() -> None:
    lexical = Lexical(
        [("parts", "session state and state of session"), ("whole", "the session_state of it")]
    )
    assert found(lexical, "session_state") == ["whole", "parts"]


def test_acronyms_and_numbers_inside_names_are_parts() -> None:
    lexical = Lexical([("a", "parseHTTPResponse2 failed")])
    assert found(lexical, "http") == found(lexical, "response") == ["a"]


@pytest.mark.parametrize(
    ("said", "asked"),
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
def test_other_forms_of_a_word_are_found(said: str, asked: str) -> None:
    assert found(Lexical([("a", f"it was {said} there")]), asked) == ["a"]


def test_scripts_without_spaces_are_found_by_a_part() -> None:
    lexical = Lexical([("a", "最新の状態にアップデートしてください"), ("b", "別の話")])
    assert found(lexical, "アップデート") == ["a"]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    lexical = Lexical([(f"{n}", "the cart is here") for n in range(9)] + [("x", "a walrus sings")])
    assert found(lexical, "cart walrus")[0] == "x"


def test_common_words_find_nothing() -> None:
    assert found(Lexical([("a", "why did it do that")]), "what was it and why did that") == []


def test_equal_texts_come_in_the_order_of_their_keys() -> None:
    lexical = Lexical([("b", "cart"), ("a", "cart"), ("c", "cart")])
    assert found(lexical, "cart") == ["a", "b", "c"]


def test_a_text_under_a_known_key_replaces_the_one_before() -> None:
    lexical = Lexical([("a", "cart"), ("b", "walrus")])
    lexical.add("a", "walrus")
    assert found(lexical, "cart") == []
    assert found(lexical, "walrus") == ["a", "b"]


@given(texts=st.lists(TEXTS, max_size=6), late=st.lists(TEXTS, max_size=6), query=TEXTS)
def test_texts_added_one_by_one_answer_as_if_built_at_once(
    texts: list[str], late: list[str], query: str
) -> None:
    grown = Lexical((f"{n}", text) for n, text in enumerate(texts))
    for n, text in enumerate(late):
        grown.add(f"{n}", text)
    last = {f"{n}": text for n, text in enumerate(texts)}
    last.update({f"{n}": text for n, text in enumerate(late)})
    whole = Lexical(last.items())
    assert grown.search(query, 10) == whole.search(query, 10)


@given(texts=st.lists(TEXTS, min_size=1, max_size=6), query=TEXTS)
def test_no_score_passes_the_best_possible(texts: list[str], query: str) -> None:
    lexical = Lexical((f"{n}", text) for n, text in enumerate(texts))
    most = best_possible(lexical.weights(query))
    assert all(0 < score <= most for score in lexical.scores(query).values())


@given(texts=st.lists(TEXTS, max_size=6), query=TEXTS)
def test_shares_without_an_index_are_its_scores_over_the_best_possible(
    texts: list[str], query: str
) -> None:
    lexical = Lexical((f"{n}", text) for n, text in enumerate(texts))
    most = best_possible(lexical.weights(query)) or 1
    scores = lexical.scores(query)
    expected = [scores.get(f"{n}", 0) / most for n in range(len(texts))]
    assert shares(query, texts, Words()) == pytest.approx(expected)


def test_data_without_words_has_no_terms() -> None:
    assert Words().count("—— … ()[]{} \ud83d \x00 _ __") == {}
    assert Words().count("x" * 5000) == {}
