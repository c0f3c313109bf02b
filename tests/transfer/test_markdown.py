"""Markdown: what an archive says is text, and every link leads to a file of the export."""

import posixpath
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.transfer.contents import HOSTILE, TEXTS, content
from turnetl.transfer.content import ExportContent
from turnetl.transfer.markdown import INDEX, fenced, inline, to_markdown

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(text: str) -> Iterator[Token]:
    for block in PARSER.parse(text):
        yield block
        yield from block.children or ()


def links(name: str, text: str) -> list[str]:
    targets = [str(one.attrs["href"]) for one in tokens(text) if one.type == "link_open"]
    folder = posixpath.dirname(name)
    return [posixpath.normpath(posixpath.join(folder, one.partition("#")[0])) for one in targets]


def check(exported: ExportContent) -> None:
    files = to_markdown(exported)
    for name, data in files.items():
        text = data.decode()
        kinds = {one.type for one in tokens(text)}
        assert not kinds & {"image", "table_open", "s_open", "hr", "blockquote_open", "code_block"}
        html = [one.content for one in tokens(text) if one.type.startswith("html_")]
        assert all(one.startswith(('<a id="turn-', "</a>")) for one in html)
        assert set(links(name, text)) <= files.keys()


def test_hostile_text_makes_no_markup(subtests: pytest.Subtests) -> None:
    for text in HOSTILE:
        with subtests.test(text=text):
            check(content(text))


@given(TEXTS)
def test_no_text_makes_markup(text: str) -> None:
    check(content(text))


@given(TEXTS)
def test_a_text_on_one_line_is_shown_as_it_is(text: str) -> None:
    (paragraph,) = (one for one in PARSER.parse(f"x {inline(text)}") if one.type == "inline")
    assert all(one.type == "text" for one in paragraph.children or ())


@given(st.text(alphabet="`~\n a", max_size=30))
def test_a_block_cannot_be_ended_by_its_text(text: str) -> None:
    parsed = PARSER.parse(fenced(text))
    assert [one.type for one in parsed] == ["fence"]
    assert parsed[0].content == f"{text}\n"


def test_there_is_a_file_for_each_session_and_each_entity() -> None:
    files = to_markdown(content())
    names = sorted(files)
    assert [name.partition("/")[0] for name in names] == [
        "entities",
        "entities",
        INDEX,
        "sessions",
        "sessions",
    ]


def test_sessions_and_entities_link_to_each_other() -> None:
    files = to_markdown(content())
    sessions = [name for name in files if name.startswith("sessions/")]
    entities = [name for name in files if name.startswith("entities/")]
    assert set(links(INDEX, files[INDEX].decode())) == {*sessions, *entities}
    for name in sessions:
        assert set(links(name, files[name].decode())) == set(entities)
    for name in entities:
        assert set(links(name, files[name].decode())) == {*sessions, *entities}


def test_a_turn_has_its_prompt_steps_answer_and_lineage() -> None:
    files = to_markdown(content())
    text = next(text.decode() for name, text in files.items() if "2026-03-02" in name)
    for part in ("### Prompt", "### While the agent worked", "### Steps", "Edit (failed):"):
        assert part in text
    assert "lines 1 to" in text
    assert "archives/s1.jsonl" in text
