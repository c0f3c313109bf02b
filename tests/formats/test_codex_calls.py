"""Tool calls of Codex rollouts that stand in completed items, with and without scripts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.codex_rollout import Row, completed, event, prompt, response, rollout, turn_id
from turnetl.formats.codex import Codex
from turnetl.formats.kit.tool_input import added_lines
from turnetl.formats.port import RawToolCall, RawTurn

ARCHIVE = Path(__file__).parents[1] / "archives" / "codex" / "code_mode.jsonl"
HEADER = "Script completed\nWall time 1.2 seconds\nOutput:\n"
Shown = tuple[str, str, str, bool]


def shown(call: RawToolCall) -> Shown:
    return call.name, call.input, call.result, call.is_error


def turn_of(*rows: Row) -> RawTurn:
    parsed = rollout(prompt("item", "do it", 1), *rows)
    (turn,) = parsed.turns
    assert parsed.counts.tool_calls == len(turn.tool_calls)
    return turn


def calls(*rows: Row) -> list[Shown]:
    return [shown(call) for call in turn_of(*rows).tool_calls]


def script(text: str, *rows: Row, output: tuple[str, ...] = (HEADER,)) -> list[Shown]:
    """Return the calls of a script that these rows belong to."""
    parts = [{"type": "input_text", "text": part} for part in output]
    return calls(
        response(type="custom_tool_call", name="exec", call_id="1", input=text),
        *rows,
        response(type="custom_tool_call_output", call_id="1", output=parts),
    )


def command(name: str, text: str, **fields: Any) -> Row:
    words = ["bash", "-lc", text]
    item = {"type": "CommandExecution", "id": name, "command": words, "status": "completed"}
    return completed(item | {"exit_code": 0} | fields, 1)


def change(changes: object, **fields: Any) -> Row:
    return completed({"type": "FileChange", "id": "f", "changes": changes} | fields, 1)


def mcp(**fields: Any) -> Row:
    item = {"type": "McpToolCall", "id": "m", "server": "tickets", "tool": "get"}
    return completed(item | {"arguments": {"id": 1}} | fields, 1)


def test_what_scripts_did_are_calls_with_exit_code_error_and_files() -> None:
    (turn,) = Codex().read(ARCHIVE.read_bytes()).turns
    assert [shown(call) for call in turn.tool_calls] == [
        ("exec_command", "pytest -q", "Exit code 1\nE   KeyError: 'price'\n1 failed", True),
        (
            "apply_patch",
            "/home/dev/shop/src/cart.py :: - return price + return price_cents",
            "Success",
            False,
        ),
        ("exec_command", "pytest -q", "1 passed", False),
    ]
    assert added_lines(turn.tool_calls[1].arguments) == [
        ("/home/dev/shop/src/cart.py", ["return price_cents"])
    ]
    assert all(call.ended_at is not None for call in turn.tool_calls)


def test_a_script_is_a_call_only_if_it_says_more_than_its_calls() -> None:
    first = command("a", "ls", aggregated_output="cart.py\n")
    second = command("b", "make", aggregated_output="broken", exit_code=2)
    both = [("exec_command", "ls", "cart.py\n", False)]
    both.append(("exec_command", "make", "Exit code 2\nbroken", True))
    printed = json.dumps({"output": "broken", "exit_code": 2}, indent=1)
    assert script("x", first, second, output=(HEADER, "cart.py\nbroken")) == both
    assert script("x", first, second, output=(HEADER, "cart.py\n", printed)) == both
    assert script("x", first, second, output=(HEADER, "broken\nin all: 3")) == [
        ("exec_script", "x", "in all: 3", False),
        *both,
    ]


def test_a_script_that_fails_is_a_failed_call() -> None:
    output = ("Script failed\nWall time 0.1 seconds\nOutput:\n", "ReferenceError: y")
    (failed,) = script("y()", output=output)
    assert failed == ("exec", "y()", "ReferenceError: y", True)
    failed, done = script("y()", command("a", "ls"), output=output)
    assert failed == ("exec_script", "y()", "ReferenceError: y", True)
    assert done == ("exec_command", "ls", "", False)


def test_the_output_of_a_script_that_still_runs_counts_once() -> None:
    wait = response(type="function_call", name="wait", arguments='{"cell_id":3}', call_id="2")
    rest = response(type="function_call_output", call_id="2", output=f"{HEADER}broken")
    shown = calls(
        response(type="custom_tool_call", name="exec", call_id="1", input="x"),
        response(type="custom_tool_call_output", call_id="1", output="Script running\nOutput:\n"),
        command("a", "make", aggregated_output="broken", exit_code=2),
        *(wait, rest),
    )
    assert shown == [
        ("exec_script", "x", "", False),
        ("exec_command", "make", "Exit code 2\nbroken", True),
    ]


def test_a_script_without_an_output_leaves_its_calls() -> None:
    running = command("a", "sleep 9", status="in_progress", exit_code=None)
    aborted = event("turn_aborted", turn_id=turn_id(1), reason="interrupted")
    call = response(type="custom_tool_call", name="exec", call_id="1", input="x")
    assert calls(call, running, aborted) == [("exec_command", "sleep 9", "", False)]


def test_events_within_a_script_are_calls() -> None:
    ended = event(
        "exec_command_end",
        call_id="exec-1",
        command=["ls"],
        aggregated_output="x",
        exit_code=1,
    )
    assert script("x", ended) == [("exec_command", "ls", "Exit code 1\nx", True)]
    assert calls(ended) == []


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", ["call_1", "item_1"])
def test_a_call_with_a_row_of_the_model_and_an_item_counts_once(place: int, name: str) -> None:
    """Whatever the order of the rows, and whether or not their ids agree."""
    arguments = '{"cmd": "pytest"}'
    call = response(
        type="function_call", name="exec_command", arguments=arguments, call_id="call_1"
    )
    output = response(type="function_call_output", call_id="call_1", output="bad")
    rows = [call, output]
    rows.insert(place, command(name, "pytest", aggregated_output="bad", exit_code=1))
    ((_, text, result, is_error),) = calls(*rows)
    assert (text, result.removeprefix("Exit code 1\n"), is_error) == ("pytest", "bad", True)


def test_the_same_command_run_twice_is_two_calls() -> None:
    def run(number: int) -> list[Row]:
        arguments, key = '{"cmd": "pytest"}', f"call_{number}"
        return [
            response(type="function_call", name="exec_command", arguments=arguments, call_id=key),
            command(f"item_{number}", "pytest"),
            response(type="function_call_output", call_id=key, output=str(number)),
        ]

    assert [result for _, _, result, _ in calls(*run(1), *run(2))] == ["1", "2"]
    assert len(calls(command("a", "pytest"), event("other"), command("b", "pytest"))) == 2


def test_a_patch_of_the_model_and_its_item_count_once() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-1\n+2\n*** End Patch"
    call = response(type="custom_tool_call", name="apply_patch", call_id="1", input=patch)
    item = change({"/shop/src/a.py": {"type": "update", "unified_diff": "@@\n-1\n+2"}})
    assert calls(call, item) == [("apply_patch", "src/a.py :: - 1 + 2", "", False)]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"a.py": {"type": "add", "content": "x = 1\n"}}, "a.py :: + x = 1"),
        ({"a.py": {"type": "delete", "content": "x = 1"}}, "a.py :: deleted"),
        (
            {
                "a.py": {
                    "type": "update",
                    "unified_diff": "--- a\n+++ b\n@@\n-1\n+2",
                    "move_path": "b",
                }
            },
            "*** Delete File: a.py *** Update File: b - 1 + 2",
        ),
        ({"a.py": {"update": {"unified_diff": "@@\n-1\n+2"}}}, "a.py :: - 1 + 2"),
        ([{"path": "a.py", "kind": {"type": "update"}, "diff": "@@\n-1\n+2"}], "a.py :: - 1 + 2"),
        ({}, ""),
        (None, ""),
    ],
)
def test_the_files_of_a_change_are_those_of_a_patch(changes: object, text: str) -> None:
    assert calls(change(changes)) == [("apply_patch", text, "", False)]


@pytest.mark.parametrize(
    ("row", "call"),
    [
        (mcp(result={"content": [{"type": "text", "text": "hi"}]}), ("hi", False)),
        (mcp(result={"content": [], "structuredContent": {"id": 1}}), ('{"id":1}', False)),
        (mcp(result={"content": [{"type": "text", "text": "x"}], "isError": True}), ("x", True)),
        (mcp(result={"Ok": {"content": [{"type": "text", "text": "hi"}]}}), ("hi", False)),
        (mcp(result={"Err": "bad"}), ("bad", True)),
        (mcp(status="failed", error={"message": "timeout"}), ("timeout", True)),
        (mcp(status="failed", error="timeout"), ("timeout", True)),
    ],
)
def test_a_call_of_an_mcp_server_has_its_result(row: Row, call: tuple[str, bool]) -> None:
    assert calls(row) == [("mcp__tickets__get", '{"id":1}', *call)]


def test_items_of_other_kinds_are_calls_if_they_are_about_one() -> None:
    search = {"type": "search", "query": "cart"}
    page = {"type": "openPage", "url": "http://x.example"}
    items: list[dict[str, Any]] = [
        {"type": "WebSearch", "query": "cart", "action": search},
        {"type": "Extension", "kind": "web", "query": "", "action": page},
        {"type": "Extension", "kind": "sleep", "arguments": {"s": 1}, "status": "failed"},
        {"type": "Extension", "kind": "marker"},
        {"type": "ImageGeneration", "revised_prompt": "A cart", "result": "AAAA"},
        {"type": "ImageView", "path": "/a.png"},
        {"type": "CommandExecution", "command": ["ls"], "source": "userShell"},
        {"type": "CommandExecution"},
        {"type": "Unknown"},
    ]
    assert calls(*(completed(item, 1) for item in items)) == [
        ("web_search", "cart", "", False),
        ("web_search", "http://x.example", "", False),
        ("sleep", '{"s":1}', "", True),
        ("image_generation", "A cart", "[image]", False),
        ("view_image", "/a.png", "", False),
    ]


def test_a_declined_command_was_rejected_by_the_user() -> None:
    declined = command("a", "rm -r x", status="declined", exit_code=None)
    assert calls(declined) == [("exec_command", "rm -r x", "User rejected the call.", True)]
    failed = command("a", "make", status="failed", exit_code=None, stdout="o\n", stderr="E")
    assert calls(failed) == [("exec_command", "make", "o\nE", True)]
