import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import subagent, tool, turn
from tests.episodes.content.samples import SAMPLES
from turnetl.base import schema
from turnetl.base.model import ClosedBy, ToolCall, Turn
from turnetl.episodes.text import SEARCHED_CHARS, render_turns


def text(patterns: Sequence[str] = (), **fields: Any) -> str:
    one = turn(**{"user_text": "Q", "assistant_text": "A", **fields})
    runs = pl.Series(
        "subagents", [list(map(asdict, one.subagents))], schema.EPISODES.polars["subagents"]
    )
    return str(render_turns(frames.turns(one).collect().with_columns(runs), patterns)[0])


def call_line(call: ToolCall, **fields: Any) -> str:
    return text(tool_calls=(call,), **fields).partition("\n\ntools: ")[2]


def test_a_turn_is_rendered_as_the_messages_of_a_conversation() -> None:
    rendered = text(
        user_text="Mend the cart",
        assistant_text="Done.",
        steering=("and the basket", "in Rust"),
        user_answers=("use Postgres",),
        tool_calls=(
            tool("Read", "/home/dev/shop/cart.py", "..."),
            tool("Bash", "make", "2 passed"),
        ),
    )
    assert rendered == (
        "user: Mend the cart\n\nassistant: Done.\n\nuser: and the basket\n\nuser: in Rust"
        "\n\nuser: use Postgres\n\ntools: Read cart.py\ntools: Bash make -> 2 passed"
    )


def test_what_the_user_said_during_a_response_stands_in_its_place() -> None:
    said = {
        "assistant_text": "I look.\n\nWhich one?\n\nDone.",
        "steering": ("and the basket", "thanks"),
        "user_answers": ("the second",),
    }
    assert text(**said, places=(7, 26, 19)) == (
        "user: Q\n\nassistant: I look.\n\nuser: and the basket\n\nassistant: Which one?"
        "\n\nuser: the second\n\nassistant: Done.\n\nuser: thanks"
    )
    after = "Done.\n\nuser: and the basket\n\nuser: thanks\n\nuser: the second"
    for unknown in (None, (), (7, 26)):
        assert text(**said, places=unknown).endswith(after)


def test_of_a_subagent_its_changes_commands_and_unreported_answer_are_rendered() -> None:
    calls = (
        tool("Read", "/home/dev/shop/cart.py", "..."),
        tool("Bash", "ls -la", "cart.py"),
        tool("Edit", "/home/dev/shop/cart.py :: + price = 1"),
        tool("Bash", "make", "2 passed"),
        tool("Bash", "make", "1 failed", is_error=True),
    )
    task = tool("Task", "fix it", "The price was missing.")
    reported = subagent("a1", *calls, answer="The price was missing.")
    unreported = subagent("a2", type=None, answer="Nobody reads basket.py.")
    rendered = text(tool_calls=(task,), subagents=(reported, unreported))
    assert rendered.split("\n")[4:] == [
        "tools: Task fix it -> The price was missing.",
        "tools: Edit cart.py :: + price = 1 (by subagent Explore)",
        "tools: Bash make (by subagent Explore) -> 2 passed, then failed: 1 failed",
        "tools: answer (by a subagent) -> Nobody reads basket.py.",
    ]
    assert "make" not in text(["make"], tool_calls=(task,), subagents=(reported,))


def test_empty_messages_are_not_rendered() -> None:
    assert text(assistant_text="", steering=("", "go")) == "user: Q\n\nuser: go"


USER_TEXTS = [
    "two\n\nparagraphs with    blanks\n\tand tabs",
    "```python\n" + "x = 1\n" * 500 + "```",
    "the same line\n" * 20 + "the end",
    "=====================\nerror: 100%|████████| 3/3\n" * 3 + "why?",
    "<div>not a reminder</div> [base64] user: me",
    "What is a <system-reminder> and why?",
]


@pytest.mark.parametrize("user_text", USER_TEXTS)
def test_what_the_user_typed_is_complete(user_text: str) -> None:
    assert user_text.strip() in text(user_text=user_text)
    assert user_text.strip() in text(steering=(user_text,))
    assert user_text.strip() in text(user_answers=(user_text,))


def test_colours_are_removed() -> None:
    coloured = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07"
    assert text(user_text=coloured) == "user: red link\n\nassistant: A"
    assert call_line(tool("Bash", "make", f"{coloured}")) == "Bash make -> red link"


def test_reminders_of_the_agent_are_removed() -> None:
    reminded = "1 passed<system-reminder>\nBe nice.\n</system-reminder>"
    assert call_line(tool("Bash", "make", reminded)) == "Bash make -> 1 passed"
    assert text(user_text=reminded) == "user: 1 passed\n\nassistant: A"
    truncated = "1 passed<system-reminder>\nBe [... 9 characters left out ...]"
    assert call_line(tool("Bash", "make", truncated)) == "Bash make -> 1 passed"


def test_base64_is_removed() -> None:
    image = "data:image/png;base64," + "iVBORw0KGgo" * 60
    assert text(user_text=f"see {image} here") == "user: see [base64] here\n\nassistant: A"


def test_of_a_progress_bar_the_end_is_kept() -> None:
    bar = "\r".join(f"{n}%|{'█' * n}" for n in range(0, 100, 9)) + "\rdone: 3 packages"
    assert call_line(tool("Bash", "pip install x", bar)) == "Bash pip install x -> done: 3 packages"


def test_repeated_lines_are_rendered_once() -> None:
    assert text(tool_calls=(tool("Bash", "make"),) * 3).count("tools: Bash make") == 1
    failing = "E   KeyError: 'cart'\n" * 9
    rendered = call_line(tool("Bash", "pytest", failing, is_error=True))
    assert rendered == "Bash pytest -> failed: E KeyError: 'cart'"


def test_of_a_failed_command_the_exit_code_and_the_errors_are_kept() -> None:
    result = "Exit code 2\ncollecting\n" + "dot\n" * 50 + "E   KeyError: 'cart'\n1 failed in 2s"
    rendered = call_line(tool("Bash", "pytest -q", result, is_error=True))
    assert rendered == "Bash pytest -q -> failed: Exit code 2; E KeyError: 'cart'; 1 failed in 2s"


def test_of_a_successful_command_failures_and_totals_are_kept() -> None:
    result = "\n".join(["go", "--- FAIL: TestCart (0.0s)", *["dot"] * 50, "3 passed, 1 failed"])
    rendered = call_line(tool("Bash", "go test", result))
    assert rendered == "Bash go test -> --- FAIL: TestCart (0.0s); 3 passed, 1 failed"


def test_results_that_only_display_something_are_not_rendered() -> None:
    listing = "def failed():\n    raise Error('3 failed')\n" * 9
    assert call_line(tool("Read", "/home/dev/shop/a.py", listing)) == "Read a.py"
    assert call_line(tool("Bash", "cat a.py", listing)) == "Bash cat a.py"


def test_an_error_without_a_known_phrase_is_rendered_as_its_first_line() -> None:
    rendered = call_line(
        tool("Edit", "a.py", "String to replace is gone.\n" + "more\n" * 99, is_error=True)
    )
    assert rendered == "Edit a.py -> failed: String to replace is gone."


def test_a_call_that_the_user_rejected_says_so() -> None:
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected ..."
    rendered = call_line(tool("Edit", "a.py", refusal, is_error=True))
    assert rendered == "Edit a.py -> failed: tool use rejected by the user"


def test_a_search_is_rendered_as_its_pattern_and_place() -> None:
    call = r'{"pattern":"def \"cart\"\\(","path":"/home/dev/shop/src","output_mode":"content"}'
    assert call_line(tool("Grep", call, "src/cart.py:7\n" * 99)) == r'Grep def "cart"\( in src'
    assert call_line(tool("Glob", '{"pattern":"**/*.py"}')) == "Glob **/*.py"
    in_some = '{"pattern":"cart","path":"/home/dev/shop/src","glob":"*_test.go"}'
    assert call_line(tool("Grep", in_some)) == "Grep cart in src of *_test.go"


def test_the_findings_of_a_subagent_are_rendered() -> None:
    assert (
        call_line(tool("Task", "look", "The cart is\nempty.")) == "Task look -> The cart is empty."
    )


def test_paths_are_relative_to_the_working_directory() -> None:
    assert call_line(tool("Bash", "cd /home/dev/shop && make")) == "Bash make"
    assert call_line(tool("Read", "/home/dev/other/a.py")) == "Read /home/dev/other/a.py"
    assert call_line(tool("Read", "/a.py"), cwd=None) == "Read /a.py"


def test_bookkeeping_tools_are_not_rendered() -> None:
    assert text(tool_calls=(tool("TodoWrite", '{"todos":[]}', "ok"),)) == "user: Q\n\nassistant: A"


def test_what_turnetl_answered_the_agent_is_not_rendered() -> None:
    asked = tool("mcp__turnetl__search", '{"query":"cart"}', "1 hit: turn 66185fa7")
    assert text(tool_calls=(asked,)) == "user: Q\n\nassistant: A"


def test_of_a_long_call_both_ends_are_kept() -> None:
    rendered = call_line(tool("Bash", "make release '" + "xy " * 300 + "' && git push --force"))
    assert rendered.startswith("Bash make release 'xy xy ")
    assert "xy xy... xy" in rendered
    assert rendered.endswith("xy ' && git push --force")
    assert len(rendered) < 520


def test_what_an_agent_wrote_for_people_is_kept() -> None:
    prose = "We keep `prices` in cents. " * 60
    body = f'{{"issue":"SHOP-12","body":"{prose}"}}'
    for call in (
        tool("Bash", f"git add . && git commit -q -m \"$(cat <<'EOF' {prose} EOF )\""),
        tool("Bash", f"gh pr create --title Cents --body '{prose}'"),
        tool("mcp__linear__create_comment", body),
    ):
        assert prose in call_line(call)
    plan = tool(
        "ExitPlanMode", json.dumps({"plan": f"# Plan\n\n1. {prose}"}, separators=(",", ":"))
    )
    assert call_line(plan) == f"ExitPlanMode # Plan 1. {prose.strip()}"


def test_a_turn_of_marks_of_redactions_alone_has_no_text() -> None:
    mark = "[REDACTED_TEXT len=12 sha=0f]"
    hidden = tool("exec", "[REDACTED_ARGUMENTS len=9]", "[REDACTED_OUTPUT len=3]")
    marks = {"user_text": mark, "assistant_text": f"{mark}\n\n{mark}", "steering": (mark,)}
    stopped = {"closed_by": ClosedBy.INTERRUPTED}
    assert text(**marks, tool_calls=(hidden, tool("web_search", "null")), **stopped) == ""
    assert call_line(tool("exec", "make", mark), **marks) == f"exec make -> {mark}"
    assert text(**{**marks, "user_text": f"Use {mark}"}, tool_calls=(hidden,)).count(mark) == 4


def test_an_interrupted_turn_says_so_unless_it_has_no_text() -> None:
    stopped = {"closed_by": ClosedBy.INTERRUPTED}
    assert text(**stopped) == "user: Q\n\nassistant: A\n\nuser: [Request interrupted by user]"
    assert text(user_text="", assistant_text="", **stopped) == ""


def test_bold_markers_and_no_other_asterisks_are_removed() -> None:
    answer = "**Why:** it is **not** so.\n- **a.py**: `**/*.py`, x**2 + y**2, f(**a, **b), **open"
    assert text(assistant_text=answer) == (
        "user: Q\n\nassistant: Why: it is not so."
        "\n- a.py: `**/*.py`, x**2 + y**2, f(**a, **b), **open"
    )
    assert text(user_text="so **not** that") == "user: so **not** that\n\nassistant: A"


def test_patterns_apply_to_everything_except_what_the_user_typed() -> None:
    noisy = "DEBUG x\n"
    fields = {
        "user_text": noisy,
        "steering": (noisy,),
        "user_answers": (noisy,),
        "assistant_text": f"Done.\n{noisy}",
        "tool_calls": (tool("Bash", "echo DEBUG x; make", f"{noisy}2 passed"),),
    }
    rendered = text(patterns=(r"(?m)^DEBUG.*\n", "echo [^;]*; "), **fields)
    assert rendered == (
        "user: DEBUG x\n\nassistant: Done.\n\nuser: DEBUG x\n\nuser: DEBUG x"
        "\n\ntools: Bash make -> 2 passed"
    )


def test_patterns_search_a_bounded_part_of_a_text() -> None:
    again = "DEBUG x\n" * (SEARCHED_CHARS // 8 + 3)
    assert text(patterns=("DEBUG x\n",), assistant_text=again).count("DEBUG") == 3


def test_a_repeated_call_is_rendered_once_with_all_its_results() -> None:
    makes = [tool("Bash", "make", result) for result in ("1 failed", "", "1 failed", "2 passed")]
    rendered = text(tool_calls=(makes[0], tool("Edit", "a.py"), *makes[1:]))
    assert rendered.endswith(
        "tools: Bash make -> 1 failed, then done, then 2 passed\ntools: Edit a.py"
    )


def test_of_a_frequent_call_the_first_results_and_the_last_are_kept() -> None:
    rendered = calls_text(*(tool("Bash", "make", f"{n} failed") for n in range(9, 0, -1)))
    assert rendered == "Bash make -> 9 failed, then 8 failed, then 1 failed"


def calls_text(*calls: ToolCall) -> str:
    return text(tool_calls=calls).partition("\n\ntools: ")[2]


LONG_BLOCK = "def total(cart):\n" + "    add(cart)\n" * 40


def test_a_long_code_block_is_replaced_by_language_length_and_signatures() -> None:
    answer = f"Look:\n\n```python\n{LONG_BLOCK}```\n\nDone ```x``` so.\n\n```\nmake\n```"
    assert text(assistant_text=answer) == (
        "user: Q\n\nassistant: Look:\n\n[python, 41 lines: def total(cart)]\n\nDone ```x``` so."
        "\n\n```\nmake\n```"
    )


def test_a_long_block_of_another_content_type_is_condensed_as_that_type() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in b\n' + "  x\n" * 40
    answer = f"```\n{trace}KeyError: 'cart'\n```"
    assert (
        text(assistant_text=answer)
        == "user: Q\n\nassistant: [code, KeyError: 'cart'; at a.py:3, in b]"
    )


def test_an_unclosed_block_is_unchanged() -> None:
    answer = f"```python\n{LONG_BLOCK}"
    assert text(assistant_text=answer) == f"user: Q\n\nassistant: {answer.strip()}"


def test_blocks_that_the_user_typed_are_complete() -> None:
    typed = f"```python\n{LONG_BLOCK}```"
    assert text(user_text=typed, steering=(typed,)).count(typed) == 2


def test_json_in_a_call_is_rendered_without_escapes() -> None:
    call = r'{"title":"Round","body":"Half a cent\n\nis a \"cent\"."}'
    assert call_line(tool("create_issue", call)) == (
        'create_issue {"title":"Round","body":"Half a cent is a "cent"."}'
    )


def test_paths_keep_a_folder_at_the_root() -> None:
    assert call_line(tool("Read", "/shop/a.py"), cwd="/shop") == "Read /shop/a.py"


@pytest.mark.parametrize(
    ("call", "displays"),
    [
        ("cat a.py", True),
        ("cd src && rg -n total | head -5", True),
        ("ls; cat a.py || echo none", True),
        ("git diff", False),
        ("cat a.py && make", False),
        ("python -c 'print(1)'", False),
    ],
)
def test_a_command_line_only_displays_if_each_of_its_commands_does(
    call: str, *, displays: bool
) -> None:
    result = "Error: broken\n" * 20 + "dot\n" * 90
    assert ("Error" not in call_line(tool("Bash", call, result))) is displays


@pytest.mark.parametrize("name", ["Read", "read_file", "view", "list_directory", "LS"])
def test_reading_tools_are_recognised_across_agents(name: str) -> None:
    assert call_line(tool(name, "a.py", "3 failed")) == f"{name} a.py"


@pytest.mark.parametrize("name", ["Bash", "shell", "exec_command", "run_shell_command", "bash"])
def test_running_tools_are_recognised_across_agents(name: str) -> None:
    assert call_line(tool(name, "make", "dot\n" * 99 + "3 failed")) == f"{name} make -> 3 failed"


@pytest.mark.parametrize("name", ["Edit", "write_file", "apply_patch", "str_replace", "replace"])
def test_editing_tools_are_recognised_across_agents(name: str) -> None:
    rendered = call_line(
        tool(name, "a.py :: - x + y", "The file a.py has been updated.\n" + "3 failed\n" * 9)
    )
    assert rendered == f"{name} a.py :: - x + y"


@pytest.mark.full
@pytest.mark.parametrize("size", [1, 7, 50])
def test_a_turn_is_rendered_independently_of_other_turns(size: int) -> None:
    turns = frames.turns(*(mixed_turn(n) for n in range(50))).collect()
    batches = [render_turns(turns[start : start + size]) for start in range(0, 50, size)]
    assert pl.concat(batches).to_list() == render_turns(turns).to_list()
    assert render_turns(turns.reverse()).reverse().to_list() == render_turns(turns).to_list()


def mixed_turn(n: int) -> Turn:
    """A turn with none, one or several samples of tool results."""
    results = SAMPLES[n % 7 : n : 1 + n % 3]
    calls = tuple(
        tool(NAMES[sample.role], "make", sample.text, is_error=sample.failed) for sample in results
    )
    blocks = "\n\n".join(f"```\n{sample.text}\n```" for sample in SAMPLES[n : n + n % 2])
    return turn(
        f"p{n}", tool_calls=calls, assistant_text=f"So:\n{blocks}", cwd=None if n % 5 else "/a/b"
    )


NAMES = {"run": "Bash", "read": "Read", "search": "Grep", "edit": "Edit"} | {
    "report": "Task",
    "other": "weather",
    "code": "Bash",
}


def test_no_turns_are_accepted() -> None:
    assert render_turns(frames.turns().collect()).to_list() == []


@pytest.mark.full
def test_a_text_of_many_megabytes_is_rendered() -> None:
    long = "one two three " * 400_000
    rendered = text(user_text=long, assistant_text=f"```\n{long}\n```", steering=(long,))
    assert rendered.count(long.strip()) == 2
    assert len(rendered) < 2 * len(long) + 2000


def test_commit_signatures_of_agents_are_removed() -> None:
    signed = "git commit -m 'Round Co-Authored-By: Some Model <noreply@example.com> '"
    assert call_line(tool("Bash", signed)) == "Bash git commit -m 'Round '"
