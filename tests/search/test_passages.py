import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from turnetl.search.passages import select_passages, split_passages


def test_a_short_text_is_one_passage() -> None:
    assert [one.text for one in split_passages("The cart was empty.")] == ["The cart was empty."]


def test_what_the_person_said_weighs_more() -> None:
    asked, answered = split_passages(
        "user: Why is it empty?\n\nassistant: The fixture forgot an item."
    )
    assert (asked.text, answered.text) == ("Why is it empty?", "The fixture forgot an item.")
    assert asked.weight > answered.weight


def test_passages_overlap_so_that_no_sentence_is_only_found_in_halves() -> None:
    first, second, *_ = split_passages(" ".join(f"word{n}" for n in range(200)))
    assert first.text.split()[-1] in second.text.split()


def test_a_text_of_nothing_has_no_passages() -> None:
    assert split_passages(" \n ") == []


ENDLESS = " ".join(f"word{n}" for n in range(50_000))


def test_of_an_endless_text_beginning_and_end_are_read() -> None:
    read = select_passages(split_passages(ENDLESS), lambda texts: np.zeros(len(texts)))
    assert len(read) < 100
    assert read[0].text.startswith("word0 ")
    assert read[-1].text.endswith("word49999")


def test_of_an_endless_text_what_holds_the_question_is_read_wherever_it_stands() -> None:
    read = select_passages(
        split_passages(ENDLESS),
        lambda texts: np.array([float("word25000 " in text) for text in texts]),
    )
    assert len(read) < 100
    assert any("word25000 " in one.text for one in read)
    assert [one.text for one in read] == [
        one.text for one in split_passages(ENDLESS) if one.text in {found.text for found in read}
    ]


WORDS = st.text("abcdefghéж", min_size=1, max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=300))
def test_every_word_is_whole_in_a_passage(said: list[str]) -> None:
    found = split_passages(" ".join(said))
    assert found
    assert set(said) - {word for one in found for word in one.text.split()} == set()
