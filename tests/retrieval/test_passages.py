"""Episode texts are split into passages, and those of long turns are selected."""

import hypothesis.strategies as st
from hypothesis import given

from turnetl.episode_text.passages import split_passages


def test_a_short_text_is_one_passage() -> None:
    assert [passage.text for passage in split_passages("The cart was empty.")] == [
        "The cart was empty."
    ]


def test_a_prompt_weighs_more_than_a_response() -> None:
    prompt, response = split_passages(
        "user: Why is it empty?\n\nassistant: The fixture forgot an item."
    )
    assert (prompt.text, response.text) == ("Why is it empty?", "The fixture forgot an item.")
    assert prompt.weight > response.weight


def test_passages_overlap_so_that_sentences_are_not_only_in_halves() -> None:
    first, second, *_ = split_passages(" ".join(f"word{n}" for n in range(200)))
    assert first.text.split()[-1] in second.text.split()


def test_a_blank_text_has_no_passages() -> None:
    assert split_passages(" \n ") == []


WORDS = st.text("abcdefghéж", min_size=1, max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=300))
def test_every_word_is_complete_in_a_passage(words: list[str]) -> None:
    found = split_passages(" ".join(words))
    assert found
    assert set(words) - {word for passage in found for word in passage.text.split()} == set()
