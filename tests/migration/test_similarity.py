"""Similarities are between 0 and 1, and a session resembles its own words most."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turnetl.migration.classify import SessionTexts

TEXTS = st.lists(st.text(), min_size=1, max_size=6)


@given(TEXTS, st.text())
def test_a_similarity_is_a_share(texts: list[str], text: str) -> None:
    scores = SessionTexts(texts).similarities(text)
    assert scores.shape == (len(texts),)
    assert np.all((scores >= 0) & (scores <= 1 + 1e-9))


@given(TEXTS)
def test_equal_texts_are_equally_similar(texts: list[str]) -> None:
    scores = SessionTexts([texts[0], *texts]).similarities(texts[0])
    assert scores[0] == scores[1]
    assert scores[0] >= scores.max() - 1e-9


def test_rare_words_count_more_than_common_ones() -> None:
    texts = ["common words quasar.py", "common words pulsar.py", "common words only here"]
    scores = SessionTexts(texts).similarities("common quasar.py")
    assert scores[0] > scores[1] + 0.1


def test_a_long_session_does_not_win_by_its_length() -> None:
    words = " ".join(f"word{letter}{other}" for letter in "abcdefgh" for other in "stuvwxyz")
    scores = SessionTexts([f"cart tax {words}", "cart tax totals"]).similarities("cart tax totals")
    assert scores[1] > scores[0]


def test_without_sessions_or_words_there_are_no_similarities() -> None:
    assert SessionTexts([]).similarities("cart").shape == (0,)
    assert not SessionTexts(["cart"]).similarities("").any()
