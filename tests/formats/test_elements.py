"""Elements between tags in a text, and paths in URIs."""

from pathlib import PurePosixPath, PureWindowsPath

from hypothesis import given
from hypothesis import strategies as st

from turnetl.formats.kit.message_parts import Element, elements, path_of_uri, without_elements


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


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_uri_of_a_folder_is_read_as_its_path_on_every_system(name: str) -> None:
    for kind, root in ((PurePosixPath, "/home/dev"), (PureWindowsPath, "c:/work")):
        path = kind(root, name.replace("/", "-").replace("\\", "-").replace(":", "-"))
        uri = path.as_uri()
        for written in (
            uri,
            uri.replace("/c:", "/c%3A"),
            uri.replace("file://", "vscode-remote://wsl"),
        ):
            assert path_of_uri(written) == path.as_posix()
    assert path_of_uri(name.replace("://", "")) == name.replace("://", "")
