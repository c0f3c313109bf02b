from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import tool, turn
from tests.episodes.content.samples import SAMPLES
from turnetl.episodes.text import render_turns
from turnetl.episodes.text_cleaning import SEARCHED_CHARS
from turnetl.model import ClosedBy, ToolCall, Turn


def text(patterns: Sequence[str] = (), **fields: Any) -> str:
    turns = frames.turns(turn(**{"user_text": "Q", "assistant_text": "A", **fields})).collect()
    return str(render_turns(turns, patterns)[0])


def line(call: ToolCall, **fields: Any) -> str:
    return text(tool_calls=(call,), **fields).partition("\n\ntools: ")[2]


def test_a_turn_reads_as_the_messages_of_a_conversation() -> None:
    whole = text(
        user_text="Mend the cart",
        assistant_text="Done.",
        steering=("and the basket", "in Rust"),
        user_answers=("use Postgres",),
        tool_calls=(
            tool("Read", "/home/dev/shop/cart.py", "..."),
            tool("Bash", "make", "2 passed"),
        ),
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
    "What is a <system-reminder> and why?",
]


@pytest.mark.parametrize("words", WORDS)
def test_the_persons_words_are_whole(words: str) -> None:
    assert words.strip() in text(user_text=words)
    assert words.strip() in text(steering=(words,))
    assert words.strip() in text(user_answers=(words,))


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
    assert text(tool_calls=(tool("Bash", "make"),) * 3).count("tools: Bash make") == 1
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
    assert told == "Edit a.py -> failed: tool use rejected by the user"


def test_a_search_is_told_by_its_words_and_place() -> None:
    call = r'{"pattern":"def \"cart\"\\(","path":"/home/dev/shop/src","output_mode":"content"}'
    assert line(tool("Grep", call, "src/cart.py:7\n" * 99)) == r'Grep def "cart"\( in src'
    assert line(tool("Glob", '{"pattern":"**/*.py"}')) == "Glob **/*.py"
    in_some = '{"pattern":"cart","path":"/home/dev/shop/src","glob":"*_test.go"}'
    assert line(tool("Grep", in_some)) == "Grep cart in src of *_test.go"


def test_what_a_subagent_found_is_told() -> None:
    assert line(tool("Task", "look", "The cart is\nempty.")) == "Task look -> The cart is empty."


def test_the_folder_of_the_turn_is_left_out() -> None:
    assert line(tool("Bash", "cd /home/dev/shop && make")) == "Bash make"
    assert line(tool("Read", "/home/dev/other/a.py")) == "Read /home/dev/other/a.py"
    assert line(tool("Read", "/a.py"), cwd=None) == "Read /a.py"


def test_the_lists_an_agent_keeps_for_itself_are_not_told() -> None:
    assert text(tool_calls=(tool("TodoWrite", '{"todos":[]}', "ok"),)) == "user: Q\n\nassistant: A"


def test_of_a_long_call_both_ends_are_kept() -> None:
    told = line(tool("Bash", "git commit -m '" + "xy " * 300 + "' && git push --force"))
    assert told.startswith("Bash git commit -m 'xy xy ")
    assert "xy x... xy" in told
    assert told.endswith("xy ' && git push --force")
    assert len(told) < 520


def test_a_turn_that_the_person_stopped_says_so_unless_nothing_was_said() -> None:
    stopped = {"closed_by": ClosedBy.INTERRUPTED}
    assert text(**stopped) == "user: Q\n\nassistant: A\n\nuser: [Request interrupted by user]"
    assert text(user_text="", assistant_text="", **stopped) == ""


def test_signs_for_bold_words_are_gone_but_no_others() -> None:
    said = "**Why:** it is **not** so.\n- **a.py**: `**/*.py`, x**2 + y**2, f(**a, **b), **open"
    assert text(assistant_text=said) == (
        "user: Q\n\nassistant: Why: it is not so."
        "\n- a.py: `**/*.py`, x**2 + y**2, f(**a, **b), **open"
    )
    assert text(user_text="so **not** that") == "user: so **not** that\n\nassistant: A"


def test_what_patterns_match_is_left_out_but_never_of_the_persons_words() -> None:
    noisy = "DEBUG x\n"
    turn_with = {
        "user_text": noisy,
        "steering": (noisy,),
        "user_answers": (noisy,),
        "assistant_text": f"Done.\n{noisy}",
        "tool_calls": (tool("Bash", "echo DEBUG x; make", f"{noisy}2 passed"),),
    }
    told = text(patterns=(r"(?m)^DEBUG.*\n", "echo [^;]*; "), **turn_with)
    assert told == (
        "user: DEBUG x\n\nassistant: Done.\n\nuser: DEBUG x\n\nuser: DEBUG x"
        "\n\ntools: Bash make -> 2 passed"
    )


def test_patterns_read_so_much_of_a_text_that_none_takes_forever() -> None:
    again = "DEBUG x\n" * (SEARCHED_CHARS // 8 + 3)
    assert text(patterns=("DEBUG x\n",), assistant_text=again).count("DEBUG") == 3


def test_a_call_that_is_made_again_is_told_once_with_all_that_came_of_it() -> None:
    makes = [tool("Bash", "make", said) for said in ("1 failed", "", "1 failed", "2 passed")]
    told = text(tool_calls=(makes[0], tool("Edit", "a.py"), *makes[1:]))
    assert told.endswith("tools: Bash make -> 1 failed, then done, then 2 passed\ntools: Edit a.py")


def test_of_a_call_made_many_times_the_first_outcomes_and_the_last_are_told() -> None:
    told = line_of_many(*(tool("Bash", "make", f"{n} failed") for n in range(9, 0, -1)))
    assert told == "Bash make -> 9 failed, then 8 failed, then 1 failed"


def line_of_many(*calls: ToolCall) -> str:
    return text(tool_calls=calls).partition("\n\ntools: ")[2]


LONG_BLOCK = "def total(cart):\n" + "    add(cart)\n" * 40


def test_a_long_block_of_the_agent_is_told_by_language_length_and_signatures() -> None:
    said = f"Look:\n\n```python\n{LONG_BLOCK}```\n\nDone ```x``` so.\n\n```\nmake\n```"
    assert text(assistant_text=said) == (
        "user: Q\n\nassistant: Look:\n\n[python, 41 lines: def total(cart)]\n\nDone ```x``` so."
        "\n\n```\nmake\n```"
    )


def test_a_long_block_of_the_agent_that_is_no_code_is_told_by_its_kind() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in b\n' + "  x\n" * 40
    said = f"```\n{trace}KeyError: 'cart'\n```"
    assert (
        text(assistant_text=said)
        == "user: Q\n\nassistant: [code, KeyError: 'cart'; at a.py:3, in b]"
    )


def test_a_block_that_never_ends_stays_as_it_is() -> None:
    said = f"```python\n{LONG_BLOCK}"
    assert text(assistant_text=said) == f"user: Q\n\nassistant: {said.strip()}"


def test_the_persons_own_blocks_are_whole() -> None:
    said = f"```python\n{LONG_BLOCK}```"
    assert text(user_text=said, steering=(said,)).count(said) == 2


def test_json_in_a_call_is_told_without_its_escapes() -> None:
    call = r'{"title":"Round","body":"Half a cent\n\nis a \"cent\"."}'
    assert line(tool("create_issue", call)) == (
        'create_issue {"title":"Round","body":"Half a cent is a "cent"."}'
    )


def test_a_folder_at_the_root_is_not_left_out() -> None:
    assert line(tool("Read", "/shop/a.py"), cwd="/shop") == "Read /shop/a.py"


@pytest.mark.parametrize(
    ("call", "shows"),
    [
        ("cat a.py", True),
        ("cd src && rg -n total | head -5", True),
        ("ls; cat a.py || echo none", True),
        ("git diff", False),
        ("cat a.py && make", False),
        ("python -c 'print(1)'", False),
    ],
)
def test_a_command_only_shows_if_each_of_its_commands_does(call: str, *, shows: bool) -> None:
    outcome = "Error: broken\n" * 20 + "dot\n" * 90
    assert ("Error" not in line(tool("Bash", call, outcome))) is shows


@pytest.mark.parametrize("name", ["Read", "read_file", "view", "list_directory", "LS"])
def test_reading_is_reading_whatever_agent_calls_it_so(name: str) -> None:
    assert line(tool(name, "a.py", "3 failed")) == f"{name} a.py"


@pytest.mark.parametrize("name", ["Bash", "shell", "exec_command", "run_shell_command", "bash"])
def test_running_is_running_whatever_agent_calls_it_so(name: str) -> None:
    assert line(tool(name, "make", "dot\n" * 99 + "3 failed")) == f"{name} make -> 3 failed"


@pytest.mark.parametrize("name", ["Edit", "write_file", "apply_patch", "str_replace", "replace"])
def test_changing_is_changing_whatever_agent_calls_it_so(name: str) -> None:
    told = line(
        tool(name, "a.py :: - x + y", "The file a.py has been updated.\n" + "3 failed\n" * 9)
    )
    assert told == f"{name} a.py :: - x + y"


@pytest.mark.parametrize("size", [1, 7, 50])
def test_a_turn_is_rendered_whatever_stands_beside_it(size: int) -> None:
    turns = frames.turns(*(many_sided(n) for n in range(50))).collect()
    slices = [render_turns(turns[at : at + size]) for at in range(0, 50, size)]
    assert pl.concat(slices).to_list() == render_turns(turns).to_list()
    assert render_turns(turns.reverse()).reverse().to_list() == render_turns(turns).to_list()


def many_sided(n: int) -> Turn:
    """A turn with none, one or several samples of what tools give back."""
    some = SAMPLES[n % 7 : n : 1 + n % 3]
    calls = tuple(tool(NAMES[one.role], "make", one.text, is_error=one.failed) for one in some)
    blocks = "\n\n".join(f"```\n{one.text}\n```" for one in SAMPLES[n : n + n % 2])
    return turn(
        f"p{n}", tool_calls=calls, assistant_text=f"So:\n{blocks}", cwd=None if n % 5 else "/a/b"
    )


NAMES = {"runs": "Bash", "reads": "Read", "looks": "Grep", "edits": "Edit"} | {
    "reports": "Task",
    "other": "weather",
    "code": "Bash",
}


def test_there_may_be_no_turns_at_all() -> None:
    assert render_turns(frames.turns().collect()).to_list() == []


def test_a_text_of_many_megabytes_is_rendered() -> None:
    said = "one two three " * 400_000
    told = text(user_text=said, assistant_text=f"```\n{said}\n```", steering=(said,))
    assert told.count(said.strip()) == 2
    assert len(told) < 2 * len(said) + 2000


def test_what_an_agent_writes_below_its_commits_is_gone() -> None:
    signed = "git commit -m 'Round Co-Authored-By: Some Model <noreply@example.com> '"
    assert line(tool("Bash", signed)) == "Bash git commit -m 'Round '"
