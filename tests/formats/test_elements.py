"""Elements between tags in a text."""

from hypothesis import given
from hypothesis import strategies as st

from turnetl.formats.kit.message_parts import Element, elements, without_elements


def is_task(tag: str) -> bool:
    return tag == "task"


def test_the_text_between_tags_is_read_without_white_space_around_it() -> None:
    text = (
        "<note>Mind it</note> <task kind='new'>\n Add a <b>till</b>\n</task>, <task>Sum it</task>"
    )
    first, second = elements(text, is_task)
    assert (first.text, second.text) == ("Add a <b>till</b>", "Sum it")
    assert text[second.start : second.end] == "<task>Sum it</task>"
    assert without_elements(text, is_task) == "<note>Mind it</note> ,"


def test_a_tag_that_is_not_closed_is_text() -> None:
    text = "<task>a</task> 1 < 2 <task> <note> <task>"
    assert [*elements(text, is_task)] == [Element("task", "a", 0, 14)]
    assert without_elements(text, lambda _: True) == "1 < 2 <task> <note> <task>"


@given(st.text("<>/task \n", max_size=60))
def test_elements_and_the_rest_are_the_whole_text(text: str) -> None:
    found = [*elements(text, lambda _: True)]
    places = [0, *(place for one in found for place in (one.start, one.end)), len(text)]
    assert places == sorted(places)
    rest = "".join(text[end:start] for end, start in zip(places[::2], places[1::2], strict=True))
    assert without_elements(text, lambda _: True) == rest.strip()
