"""The terms that a query and a text share, found without counting all terms of the text."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.terms import Tokenizer

WORDS = (
    *("libraries", "library", "cache", "caching", "stopped", "stop", "classes", "Été", "été"),
    *("cart_total", "CartTotal", "src/cart.py", "failing", "failed", "a", "I", "x", "日本語"),
    *("naïve", "tests", "TestCase2", "html5", "e", "to-do", "TODO", "re-run", "rerun", "PRs", "pr"),
    *("centre", "centers", "normalise", "command", "cmds", "messages", "msg", "repositories"),
)
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=12).map(" ".join)


@given(text=TEXTS, query=TEXTS)
def test_the_terms_that_occur_are_those_that_a_count_of_both_has(text: str, query: str) -> None:
    tokenizer = Tokenizer()
    terms = tokenizer.count(query).keys()
    assert tokenizer.occurring(text, terms) == terms & tokenizer.count(text).keys()


@pytest.mark.parametrize(
    "spellings",
    [
        ("to-do", "TODO", "todo"),
        ("re-run", "rerun", "reRun"),
        ("user_name", "userName", "user-name", "username"),
        ("normalise", "normalized", "normalisation"),
        ("analyse", "analyze", "analysis"),
        ("behaviour", "behaviors"),
        ("centre", "centers"),
        ("cancelled", "canceling"),
        ("repositories", "repo"),
        ("dependency", "deps"),
        ("directories", "dir"),
        ("message", "msgs"),
        ("command", "cmd"),
        ("databases", "db"),
        ("errors", "err"),
        ("URLs", "URL", "url"),
    ],
)
def test_spellings_of_a_word_share_a_term(spellings: Sequence[str]) -> None:
    counted = (Tokenizer().count(word).keys() for word in spellings)
    assert set.intersection(*map(set, counted))
