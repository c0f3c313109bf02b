import hypothesis.strategies as st
from hypothesis import given

from turnetl.graph.passages import passages


def test_a_short_text_is_one_passage() -> None:
    assert [one.text for one in passages("The cart was empty.")] == ["The cart was empty."]


def test_what_the_person_said_weighs_more() -> None:
    asked, answered = passages("user: Why is it empty?\n\nassistant: The fixture forgot an item.")
    assert (asked.text, answered.text) == ("Why is it empty?", "The fixture forgot an item.")
    assert asked.weight > answered.weight


def test_passages_overlap_so_that_no_sentence_is_only_found_in_halves() -> None:
    first, second, *_ = passages(" ".join(f"word{n}" for n in range(200)))
    assert first.text.split()[-1] in second.text.split()


def test_a_text_of_nothing_has_no_passages() -> None:
    assert passages(" \n ") == []


def test_of_an_endless_text_beginning_and_end_are_read() -> None:
    read = passages(" ".join(f"word{n}" for n in range(50_000)))
    assert len(read) < 100
    assert read[0].text.startswith("word0 ")
    assert read[-1].text.endswith("word49999")


@given(st.text(max_size=3000))
def test_every_word_is_in_a_passage_whatever_the_text(text: str) -> None:
    told = "".join(one.text for one in passages(f"> {text}")).split()
    assert all(any(word in piece for piece in told) for word in text.split() if len(word) == 1)
