import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.extraction.structural import concepts


@pytest.mark.parametrize(
    ("prompt", "response", "phrases"),
    [
        ("What is dark roast coffee?", "Dark roast coffee is bitter.", ["dark roast coffee"]),
        ("Is my loan too large?", "Your loan is within the limit.", ["loan"]),
        ("Who are you?", "I am an assistant.", []),
        ("Please help me with it.", "I can help you with it.", []),
        ("Was it opened slowly?", "It opened, slowly.", []),
        ("", "", []),
    ],
)
def test_phrases_of_both_texts_are_topics_and_function_words_are_not(
    prompt: str, response: str, phrases: list[str]
) -> None:
    assert concepts.shared_phrases(prompt, response, 2) == phrases


def test_longer_phrases_come_first_and_contain_no_other() -> None:
    text = "An olive oil press and a wooden olive oil barrel."
    assert concepts.shared_phrases(text, text, 5) == [
        "olive oil press",
        "wooden olive oil",
        "olive oil barrel",
    ]


def test_a_phrase_that_a_text_repeats_is_a_topic() -> None:
    text = "A tide table lists tides. Every tide table is local."
    assert concepts.repeated_phrases(text, 2) == ["tide table"]


def test_capitalised_names_inside_sentences_are_proper_names() -> None:
    text = "Yesterday the Baker Street Station closed. On Monday, Anna comes."
    assert concepts.proper_names(text, 5) == ["Baker Street Station", "Anna"]


def test_topics_ignore_case_when_one_contains_another() -> None:
    topics = ["team meeting", "Meeting", "room", "door"]
    assert concepts.distinct_phrases(topics, 2) == ["team meeting", "room"]


@given(prompt=st.text(max_size=200), response=st.text(max_size=200))
def test_no_text_raises_an_error_and_the_result_is_constant(prompt: str, response: str) -> None:
    for _ in range(2):
        shared = concepts.shared_phrases(prompt, response, 2)
        assert shared == concepts.shared_phrases(prompt, response, 2)
        assert len(shared) <= 2
        assert all(phrase.strip() for phrase in shared)
        assert all(name.strip() for name in concepts.proper_names(response, 2))
