"""Episode texts are split into passages, and those of long turns are selected."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from turnetl.retrieval.passages import select_passages, split_passages


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


LONG = " ".join(f"word{n}" for n in range(50_000))


def test_the_beginning_and_the_end_of_a_long_text_are_selected() -> None:
    selected = select_passages(split_passages(LONG), lambda texts: np.zeros(len(texts)))
    assert len(selected) < 100
    assert selected[0].text.startswith("word0 ")
    assert selected[-1].text.endswith("word49999")


def test_the_passage_of_a_long_text_that_contains_the_query_is_selected() -> None:
    selected = select_passages(
        split_passages(LONG),
        lambda texts: np.array([float("word25000 " in text) for text in texts]),
    )
    assert len(selected) < 100
    assert any("word25000 " in passage.text for passage in selected)
    texts = [passage.text for passage in selected]
    assert texts == [passage.text for passage in split_passages(LONG) if passage.text in texts]


WORDS = st.text("abcdefghéж", min_size=1, max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=300))
def test_every_word_is_complete_in_a_passage(words: list[str]) -> None:
    found = split_passages(" ".join(words))
    assert found
    assert set(words) - {word for passage in found for word in passage.text.split()} == set()
