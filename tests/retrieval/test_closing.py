"""What an answer states last, and what it asks the user."""

import pytest

from turnetl.episode_text.conversation import Closing, closing


def test_the_outcome_is_the_last_paragraph() -> None:
    assert closing("I looked.\n\nThe price is missing:\nI added it.").outcome == (
        "The price is missing: I added it."
    )
    assert closing("") == closing(" \n\n ") == Closing()


@pytest.mark.parametrize(
    ("answer", "outcome", "question"),
    [
        ("Fixed it.\n\nShould I commit?", "Fixed it.", "Should I commit?"),
        ("Done. All tests pass. Want me to push?", "Done. All tests pass.", "Want me to push?"),
        (
            "The first is simpler.\n\nWhich approach do you prefer? I can do either.",
            "The first is simpler.",
            "Which approach do you prefer? I can do either.",
        ),
        ("直しました。\n\nコミットしますか\uff1f", "直しました。", "コミットしますか\uff1f"),
        ("Does it fail? **Should I look?**", "", "Does it fail? **Should I look?**"),
        ("Why did it fail? The price was missing.", "Why did it fail? The price was missing.", ""),
        ("Read `a?b` next.", "Read `a?b` next.", ""),
        ("May I?\n\nShould I?", "", "Should I?"),
    ],
)
def test_a_question_at_the_end_is_no_outcome(answer: str, outcome: str, question: str) -> None:
    assert closing(answer) == Closing(outcome, question)


@pytest.mark.parametrize(
    "end",
    [
        "```python\nprint(1)\n\nprint(2)\n```",
        "```\nnever closed",
        "[code, 16 lines: Title [draft]; Summary]",
        "[python, 20 lines: def a()]",
        "[REDACTED_TEXT len=12]",
        "---",
        "\U0001f916 Generated with [Claude Code](https://claude.com/claude-code)",
    ],
)
def test_code_and_placeholders_are_no_outcome(end: str) -> None:
    assert closing(f"I wrote the description.\n\n{end}").outcome == "I wrote the description."


def test_a_paragraph_that_announces_a_list_is_continued_by_it() -> None:
    answer = "Work:\n\nWhat changed:\n\n- **a.py** reads lines\n- `b.py` writes\n"
    assert closing(answer).outcome == "What changed: **a.py** reads lines; `b.py` writes"


def test_a_paragraph_that_announces_a_step_is_not_part_of_the_outcome() -> None:
    assert closing("Let me fix both paths:\n\nDone, both are fixed.").outcome == (
        "Done, both are fixed."
    )


def test_items_of_a_list_are_separated_and_headings_have_no_marks() -> None:
    assert closing("## Summary\n1. one\n2) two\n  goes on").outcome == "Summary; one; two goes on"


def test_what_announces_code_has_no_colon() -> None:
    assert closing("It prints this:\n\n```\n1\n```").outcome == "It prints this"
