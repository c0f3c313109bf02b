from typing import Any

import pytest

from tests import frames
from tests.builders import tool, turn
from turnetl.episodes.text import render
from turnetl.model import ToolCall


def text(**fields: Any) -> str:
    turns = frames.turns(turn(**{"user_text": "Q", "assistant_text": "A", **fields})).collect()
    return str(render(turns)[0])


def line(call: ToolCall, **fields: Any) -> str:
    return text(tools=(call,), **fields).partition("\n\ntools: ")[2]


def test_a_turn_reads_as_the_messages_of_a_conversation() -> None:
    whole = text(
        user_text="Mend the cart",
        assistant_text="Done.",
        steering=("and the basket", "in Rust"),
        answers=("use Postgres",),
        tools=(tool("Read", "/home/dev/shop/cart.py", "..."), tool("Bash", "make", "2 passed")),
    )
    assert whole == (
        "user: Mend the cart\n\nassistant: Done.\n\nuser: and the basket\n\nuser: in Rust"
        "\n\nuser: use Postgres\n\ntools: Read cart.py\ntools: Bash make -> 2 passed"
    )


def test_what_was_not_said_leaves_no_trace() -> None:
    assert text(assistant_text="", steering=("", "go")) == "user: Q\n\nuser: go"


WORDS = [
    "two\n\nparagraphs with    blanks\n\tand tabs",
    "```python\n" + "x = 1\n" * 500 + "```",
    "the same line\n" * 20 + "the end",
    "=====================\nerror: 100%|████████| 3/3\n" * 3 + "why?",
    "<div>not a reminder</div> [base64] user: me",
]


@pytest.mark.parametrize("words", WORDS)
def test_the_persons_words_are_whole(words: str) -> None:
    assert words.strip() in text(user_text=words)
    assert words.strip() in text(steering=(words,))
    assert words.strip() in text(answers=(words,))


def test_colours_are_gone() -> None:
    coloured = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07"
    assert text(user_text=coloured) == "user: red link\n\nassistant: A"
    assert line(tool("Bash", "make", f"{coloured}")) == "Bash make -> red link"


def test_reminders_of_the_harness_are_gone() -> None:
    reminded = "1 passed<system-reminder>\nBe nice.\n</system-reminder>"
    assert line(tool("Bash", "make", reminded)) == "Bash make -> 1 passed"
    assert text(user_text=reminded) == "user: 1 passed\n\nassistant: A"
    cut_off = "1 passed<system-reminder>\nBe [... 9 characters left out ...]"
    assert line(tool("Bash", "make", cut_off)) == "Bash make -> 1 passed"


def test_base64_is_gone() -> None:
    image = "data:image/png;base64," + "iVBORw0KGgo" * 60
    assert text(user_text=f"see {image} here") == "user: see [base64] here\n\nassistant: A"


def test_of_a_progress_bar_the_end_is_kept() -> None:
    bar = "\r".join(f"{n}%|{'█' * n}" for n in range(0, 100, 9)) + "\rdone: 3 packages"
    assert line(tool("Bash", "pip install x", bar)) == "Bash pip install x -> done: 3 packages"


def test_lines_that_repeat_are_told_once() -> None:
    assert text(tools=(tool("Bash", "make"),) * 3).count("tools: Bash make") == 1
    failing = "E   KeyError: 'cart'\n" * 9
    told = line(tool("Bash", "pytest", failing, is_error=True))
    assert told == "Bash pytest -> failed: E KeyError: 'cart'"


def test_of_a_command_that_failed_the_state_and_the_errors_are_kept() -> None:
    outcome = "Exit code 2\ncollecting\n" + "dot\n" * 50 + "E   KeyError: 'cart'\n1 failed in 2s"
    told = line(tool("Bash", "pytest -q", outcome, is_error=True))
    assert told == "Bash pytest -q -> failed: Exit code 2; E KeyError: 'cart'; 1 failed in 2s"


def test_of_a_command_that_ran_failures_and_totals_are_kept() -> None:
    outcome = "\n".join(["go", "--- FAIL: TestCart (0.0s)", *["dot"] * 50, "3 passed, 1 failed"])
    told = line(tool("Bash", "go test", outcome))
    assert told == "Bash go test -> --- FAIL: TestCart (0.0s); 3 passed, 1 failed"


def test_what_a_tool_only_showed_is_not_told() -> None:
    listing = "def failed():\n    raise Error('3 failed')\n" * 9
    assert line(tool("Read", "/home/dev/shop/a.py", listing)) == "Read a.py"
    assert line(tool("Bash", "cat a.py", listing)) == "Bash cat a.py"


def test_an_error_without_a_telling_word_is_told_by_its_first_line() -> None:
    told = line(tool("Edit", "a.py", "String to replace is gone.\n" + "more\n" * 99, is_error=True))
    assert told == "Edit a.py -> failed: String to replace is gone."


def test_a_call_that_the_person_refused_says_so() -> None:
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected ..."
    told = line(tool("Edit", "a.py", refusal, is_error=True))
    assert told == "Edit a.py -> failed: rejected by the person"


def test_a_search_is_told_by_its_words_and_place() -> None:
    call = r'{"pattern":"def \"cart\"\\(","path":"/home/dev/shop/src","output_mode":"content"}'
    assert line(tool("Grep", call, "src/cart.py:7\n" * 99)) == r'Grep def "cart"\( in src'
    assert line(tool("Glob", '{"pattern":"**/*.py"}')) == "Glob **/*.py"


def test_what_a_subagent_found_is_told() -> None:
    assert line(tool("Task", "look", "The cart is\nempty.")) == "Task look -> The cart is empty."


def test_the_folder_of_the_turn_is_left_out() -> None:
    assert line(tool("Bash", "cd /home/dev/shop && make")) == "Bash make"
    assert line(tool("Read", "/home/dev/other/a.py")) == "Read /home/dev/other/a.py"
    assert line(tool("Read", "/a.py"), cwd=None) == "Read /a.py"


def test_the_lists_an_agent_keeps_for_itself_are_not_told() -> None:
    assert text(tools=(tool("TodoWrite", '{"todos":[]}', "ok"),)) == "user: Q\n\nassistant: A"


def test_a_long_call_is_cut_and_says_so() -> None:
    told = line(tool("Bash", "echo " + "xy " * 300))
    assert told.endswith("...")
    assert len(told) < 520
