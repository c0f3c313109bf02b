"""What a summary takes from the text of a fact: nothing twice, and nothing that says nothing."""

import pytest

from turnetl.summaries.rule_summary import comparable_text, new_statements, says_something


def shown(*texts: str) -> list[str]:
    return [comparable_text(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "[REDACTED_TEXT len=12 sha=7a220b7e]",
        "[trimmed for fixture]; [trimmed for fixture]",
        "https://example.org/a/page",
        "<https://example.org>",
        "[REDACTED_MESSAGE len=9] [trimmed]",
        " -- 3",
        "",
    ],
)
def test_a_link_or_a_placeholder_says_nothing(text: str) -> None:
    assert not says_something(text)
    assert new_statements(f"The agent decided: {text}", []) == ""


@pytest.mark.parametrize("text", ["See https://example.org", "設定を反映", "`cart.py` [new]"])
def test_a_text_with_a_word_says_something(text: str) -> None:
    assert says_something(text)
    assert new_statements(text, []) == text


def test_a_long_answer_keeps_the_statements_that_were_not_made_elsewhere() -> None:
    answer = (
        "The agent decided: The move is complete. Created `help.py`; Updated `root.py` (no import "
        "of commands); Deleted `commands/`; All tests pass."
    )
    before = shown("`root.py` was edited: Updated `root.py` (no import of commands)")
    assert new_statements(answer, before) == (
        "The agent decided: The move is complete. Created `help.py`; Deleted `commands/`; "
        "All tests pass."
    )


def test_an_edit_does_not_repeat_the_prompt_that_asked_for_it() -> None:
    before = shown("The user decided: if the file cannot be opened we return an error, or?")
    edit = (
        "`open.py` was edited when asked: if the file cannot be opened we return an error, or? "
        "(`raise OSError`)"
    )
    assert new_statements(edit, before) == "`open.py` was edited (`raise OSError`)"
    plain_edit = edit.removesuffix(" (`raise OSError`)")
    assert new_statements(plain_edit, before) == "`open.py` was edited"


def test_what_was_cut_is_recognised_by_its_beginning() -> None:
    start = "Let us test a very long message, to see how a page wraps the text"
    before = shown(f"`a.py` was edited when asked: {start}…")
    assert new_statements(f"The user decided: {start} and how it sets it", before) == ""
    other = "The user decided: Let us test another one"
    assert new_statements(other, before) == other


def test_a_short_statement_that_is_part_of_a_word_is_kept() -> None:
    assert new_statements("The user decided: Fix it", shown("the fixit tool was run")) != ""
    assert new_statements("The user decided: Fix it", shown("The agent decided: Fix it.")) == ""


def test_a_run_that_was_repeated_is_no_other_run() -> None:
    assert (
        new_statements(
            "`make lint` was run and passed, 2 times", shown("`make lint` was run and passed")
        )
        == ""
    )
    assert new_statements("`make test` was run and passed", shown("`make lint` was run and passed"))


def test_a_statement_that_announces_something_has_no_colon_at_its_end() -> None:
    text = "The agent decided: It initialises the state instead of failing:"
    assert new_statements(text, []) == text.removesuffix(":")
