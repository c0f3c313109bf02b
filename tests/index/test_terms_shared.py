"""The terms that a query and a text share, found without counting all terms of the text."""

from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.terms import Tokenizer

WORDS = (
    *("libraries", "library", "cache", "caching", "stopped", "stop", "classes", "Été", "été"),
    *("cart_total", "CartTotal", "src/cart.py", "failing", "failed", "a", "I", "x", "日本語"),
    *("naïve", "tests", "TestCase2", "html5", "e"),
)
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=12).map(" ".join)


@given(text=TEXTS, query=TEXTS)
def test_the_terms_that_occur_are_those_that_a_count_of_both_has(text: str, query: str) -> None:
    tokenizer = Tokenizer()
    terms = tokenizer.count(query).keys()
    assert tokenizer.occurring(text, terms) == terms & tokenizer.count(text).keys()
