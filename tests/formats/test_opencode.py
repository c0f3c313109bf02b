"""OpenCode archives: each sample in tests/archives/opencode shows one difficulty."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.formats.usage import tokens
from turnetl import formats
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.opencode import OpenCode
from turnetl.formats.port import ParsedArchive, Probe, RawTurn

ARCHIVES = Path(__file__).parents[1] / "archives" / "opencode"


def read(name: str) -> ParsedArchive:
    return OpenCode().read((ARCHIVES / name).read_bytes())


def only(parsed: ParsedArchive) -> RawTurn:
    (turn,) = parsed.turns
    return turn


def without_span(turn: RawTurn) -> RawTurn:
    """Return the turn without its lines and bytes."""
    calls = [replace(call, line=0) for call in turn.tool_calls]
    return replace(turn, first_line=0, last_line=0, first_byte=0, last_byte=0, tool_calls=calls)


def message(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    info = {"id": f"msg_{role}", "sessionID": "ses_1", "role": role, "time": {"created": 1}}
    return {"info": info | more, "parts": list(parts)}


def export(*messages: dict[str, Any], **info: Any) -> bytes:
    session = {"id": "ses_1", "title": "Cart", "time": {"created": 1}}
    return json.dumps({"info": session | info, "messages": messages}).encode()


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def tool(**state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": "bash", "state": {"input": {"command": "ls"}, **state}}


def test_a_prompt_excludes_text_that_the_client_adds() -> None:
    prompts = [turn.user_text for turn in read("export.json").turns]
    assert prompts == ["The cart shows 0 for @src/cart.py", "[image]", "Now document it."]


def test_all_answers_to_a_prompt_belong_to_its_turn_and_reasoning_is_omitted() -> None:
    turn = read("export.json").turns[0]
    assert turn.assistant_texts == ["I look at both files.", "The total is a sum now."]
    assert [(call.name, call.input, call.is_error) for call in turn.tool_calls] == [
        ("read", "/home/dev/shop/src/cart.py", False),
        ("bash", "pytest -q", True),
        ("edit", "src/cart.py :: - return 0 + return sum(items)", True),
        ("edit", "src/cart.py :: - return 0 + return sum(items)", False),
    ]
    assert turn.tool_calls[2].result == "oldString not found in content"
    assert turn.tool_calls[1].ended_at == datetime(2025, 11, 24, 18, 46, 41, 520_000, tzinfo=UTC)


def test_a_turn_has_times_ids_model_version_and_folder() -> None:
    turn = read("export.json").turns[0]
    assert turn.started_at == datetime(2025, 11, 24, 18, 46, 41, tzinfo=UTC)
    assert turn.ended_at == datetime(2025, 11, 24, 18, 46, 47, 40_000, tzinfo=UTC)
    assert (turn.native_id, turn.prompt_id, turn.session_id) == ("msg_0001001",) * 2 + ("ses_0001",)
    assert (turn.model, turn.app_version) == ("claude-sonnet-4-5", "1.1.36")
    assert turn.cwd == read("export.json").cwd == "/home/dev/shop"


def test_usage_is_recorded_for_each_message() -> None:
    turn = read("export.json").turns[0]
    assert [(one[0], one[3]) for one in tokens(turn)] == [(100, 20), (200, 40), (300, 5)]


def test_usage_is_recorded_for_each_step_of_a_message() -> None:
    steps = [{"type": "step-finish", "tokens": {"input": tokens, "output": 1}} for tokens in (5, 7)]
    answer = message("assistant", *steps, tokens={"input": 7, "output": 1})
    turn = only(OpenCode().read(export(message("user", text("Go.")), answer)))
    assert tokens(turn) == [(5, None, None, 1, None), (7, None, None, 1, None)]


def test_a_reply_to_a_question_and_the_text_of_a_rejection_are_answers() -> None:
    parsed = read("export.json")
    assert parsed.turns[1].user_answers == [
        '"Which currency?"="EUR, two decimals"',
        "use make clean",
    ]
    assert parsed.counts.user_answers == 2


@pytest.mark.parametrize(
    "state",
    [
        {
            "status": "error",
            "error": "The user rejected permission to use this specific tool call.",
        },
        {"status": "error", "error": "The user dismissed this question"},
        {
            "status": "completed",
            "output": 'User has answered your questions: "Which?"="Unanswered". '
            "You can now continue with the user's answers in mind.",
            "metadata": {"answers": [[]]},
        },
    ],
)
def test_a_reply_without_text_is_not_an_answer(state: dict[str, Any]) -> None:
    data = export(message("user", text("Go.")), message("assistant", tool(**state)))
    assert OpenCode().read(data).counts.user_answers == 0


def test_a_subagents_prompt_is_kept_and_its_session_has_no_turns() -> None:
    prompt = "Find every place that formats a price."
    assert read("export.json").turns[1].subagent_prompts == [prompt]
    parsed = read("subagent.json")
    assert parsed.turns == []
    assert (parsed.counts.sidechain_rows, parsed.counts.tool_calls) == (3, 1)


def test_a_shell_command_of_the_user_is_not_a_turn_and_belongs_to_none() -> None:
    parsed = read("store.json")
    assert parsed.counts.skipped[SkipReason.SHELL_COMMAND] == 6
    assert "ls" not in [call.input for turn in parsed.turns for call in turn.tool_calls]
    assert parsed.counts.tool_calls == 10


def test_the_answer_of_a_shell_command_is_skipped_if_it_names_no_message() -> None:
    shell = text("The following tool was executed by the user", synthetic=True)
    prompt = message("user", text("Go."), id="msg_1")
    answer = message("assistant", tool(status="completed", output="src"))
    parsed = OpenCode().read(export(prompt, message("user", shell), answer))
    assert only(parsed).tool_calls == []
    assert parsed.counts.tool_calls == 1


def test_an_aborted_turn_is_interrupted_and_its_call_has_no_end() -> None:
    turn = read("export.json").turns[-1]
    assert turn.closed_by is ClosedBy.INTERRUPTED
    assert turn.tool_calls[0].ended_at is None


@pytest.mark.parametrize(
    ("answer", "closed_by"),
    [
        ({"finish": "stop", "time": {"created": 2, "completed": 3}}, ClosedBy.SESSION_END),
        ({"finish": "stop", "time": {"created": 2}}, None),
        ({"finish": "tool-calls", "time": {"created": 2, "completed": 3}}, None),
        ({"time": {"created": 2, "completed": 3}}, None),
        ({"error": {"name": "APIError"}}, ClosedBy.INTERRUPTED),
    ],
)
def test_the_last_turn_is_closed_if_its_last_message_is_complete(
    answer: dict[str, Any], closed_by: ClosedBy | None
) -> None:
    data = export(message("user", text("Go.")), message("assistant", text("Done."), **answer))
    assert only(OpenCode().read(data)).closed_by is closed_by


def test_a_message_with_a_call_does_not_close_the_turn() -> None:
    ended = {"finish": "stop", "time": {"created": 2, "completed": 3}}
    answer = message("assistant", tool(status="completed", output="src"), **ended)
    assert only(OpenCode().read(export(message("user", text("Go.")), answer))).closed_by is None


def test_a_prompt_closes_the_previous_turn() -> None:
    closed = [turn.closed_by for turn in read("export.json").turns]
    assert closed[:2] == [ClosedBy.NEXT_PROMPT] * 2


def test_export_and_store_of_a_session_give_the_same_turns() -> None:
    exported = [without_span(turn) for turn in read("export.json").turns]
    for name in ("store.json", "store_pretty.json"):
        assert [without_span(turn) for turn in read(name).turns] == exported
        assert read(name).counts.tool_calls == read("export.json").counts.tool_calls


def test_a_compaction_adds_no_turn_and_no_text_but_its_usage() -> None:
    first, _ = read("compaction.json").turns
    assert first.assistant_texts == ["I start.", "All decimals now."]
    assert len(first.usage) == 3


def test_a_prompt_repeated_after_a_compaction_is_one_turn() -> None:
    parsed = read("compaction.json")
    assert [turn.user_text for turn in parsed.turns][1:] == ["Look at this."]
    assert parsed.turns[1].assistant_texts == ["The bill is 12 EUR."]
    assert parsed.counts.skipped[SkipReason.DUPLICATE] > 0


def test_the_same_prompt_typed_twice_is_two_turns() -> None:
    again = message("user", text("Go on."), id="msg_2")
    data = export(message("user", text("Go on.")), message("assistant", text("Yes.")), again)
    assert len(OpenCode().read(data).turns) == 2


def test_a_command_for_a_subagent_is_a_turn_and_its_result_is_not_a_turn() -> None:
    turn = read("commands.json").turns[1]
    assert turn.user_text == "/review\n\nReview the last commit."
    assert turn.assistant_texts == ["The review found nothing."]
    assert turn.subagent_prompts == ["Review the last commit."]


def test_reverted_messages_are_kept_and_ignored_text_is_not_a_prompt() -> None:
    assert b'"revert"' in (ARCHIVES / "commands.json").read_bytes()
    assert len(read("commands.json").turns) == 2


def test_a_prompt_typed_while_the_agent_works_is_a_separate_turn() -> None:
    first, second = read("out_of_order.json").turns
    assert second.started_at is not None
    assert first.ended_at is not None
    assert second.started_at < first.ended_at
    assert read("out_of_order.json").counts.steering == 0


def test_answers_match_their_prompt_in_any_order_or_follow_the_previous_one() -> None:
    first, second = read("out_of_order.json").turns
    assert [call.input for call in first.tool_calls] == ["pytest --durations=5"]
    assert second.assistant_texts == ["Faster, and the marker stays.", "P.S. 3 s now."]


def test_answers_before_the_first_prompt_are_preamble() -> None:
    parsed = OpenCode().read(export(message("assistant", tool(status="completed", output=""))))
    assert parsed.turns == []
    assert (parsed.counts.skipped[SkipReason.PREAMBLE], parsed.counts.tool_calls) == (1, 1)


def test_terminal_output_before_an_export_is_ignored() -> None:
    parsed = read("greeting.json")
    assert only(parsed).user_text == "Rename total to sum_of."
    assert parsed.counts.invalid_lines == 0


def test_a_truncated_export_gives_the_turns_before_the_truncation() -> None:
    parsed = read("torn.json")
    assert [turn.user_text for turn in parsed.turns] == ["First.", "Second."]
    assert (parsed.counts.invalid_lines, parsed.counts.first_invalid_line) == (1, 131)


def test_fields_of_another_type_count_as_missing_and_the_rest_is_read() -> None:
    first, second = read("crooked.json").turns
    assert first.started_at == datetime(2025, 11, 25, 14, 13, 21, tzinfo=UTC)
    assert first.cwd == "/home/dev/theme"
    assert (second.user_text, second.started_at) == ("And now?", None)
    assert read("crooked.json").counts.skipped[SkipReason.DUPLICATE] > 0


def test_a_store_with_invalid_files_gives_the_content_of_the_others() -> None:
    parsed = read("store_broken.json")
    first, second = parsed.turns
    assert first.assistant_texts == ["I add it."]
    assert (second.session_id, second.user_text) == ("ses_0010", "Of a session whose file is gone.")
    counts = parsed.counts
    assert (counts.invalid_lines, counts.blank_lines, counts.tool_calls) == (2, 1, 2)
    assert counts.skipped[SkipReason.INVALID_JSON] == 3
    assert counts.skipped[SkipReason.ORPHAN] == 20


def test_parts_that_are_numbered_within_each_message_are_all_read() -> None:
    said = {"user": "Sweep the shop", "assistant": "Swept."}
    rows: list[dict[str, Any]] = [
        {"id": role, "sessionID": "ses_1", "role": role, "time": {"created": 1_772_442_000_000}}
        for role in said
    ]
    rows += [{"id": "prt_1", "messageID": role, **text(value)} for role, value in said.items()]
    rows.append(rows[-1])
    parsed = OpenCode().read("\n".join(map(json.dumps, rows)).encode())
    assert (only(parsed).user_text, only(parsed).assistant_texts) == (said["user"], ["Swept."])
    assert parsed.counts.skipped[SkipReason.DUPLICATE] == 1


def test_messages_of_before_mid_2025_are_read_like_later_ones() -> None:
    turn = only(read("store_2025.json"))
    assert turn.assistant_texts == ["There is one.", "And one in tests."]
    assert (turn.model, turn.cwd) == ("claude-sonnet-4", "/home/dev/shop")
    assert [(call.name, call.result, call.is_error) for call in turn.tool_calls] == [
        ("grep", "routes.py:1", False),
        ("read", "An error occurred: no such file", True),
        ("bash", "", False),
    ]
    assert tokens(turn) == [(5, 0, 0, 3, 0)]


def test_messages_of_opencode_2_are_read_like_those_of_opencode_1() -> None:
    first, second = read("second.json").turns
    assert (first.user_text, first.assistant_texts) == (
        "Sort the imports.",
        ["I sort them.", "Sorted."],
    )
    assert [(call.name, call.result, call.is_error) for call in first.tool_calls] == [
        ("bash", "Fixed 2.", False),
        ("bash", "Not allowed.", True),
    ]
    assert (first.model, first.cwd, first.parent_session_id) == (
        "gpt-5",
        "/home/dev/shop",
        "ses_0001",
    )
    assert second.closed_by is ClosedBy.INTERRUPTED


def test_an_idle_session_closes_its_turn() -> None:
    data = json.loads((ARCHIVES / "second.json").read_bytes())
    data["messages"] = data["messages"][:7]
    assert only(OpenCode().read(json.dumps(data).encode())).closed_by is ClosedBy.SESSION_END


def test_ids_that_are_not_globally_unique_are_qualified_by_the_session() -> None:
    native_ids = [turn.native_id for turn in read("rewritten.json").turns]
    assert native_ids == ["session-of-another-tool:msg-1", "session-of-another-tool:msg-3"]


@pytest.mark.parametrize(
    "data",
    [
        b'{"info": {"id": "a", "title": "A podcast"}, "messages": [{"text": "Hello"}]}',
        b'{"info": {"title": "An API"}, "paths": {}}',
        b'{"id": "a", "title": "A song", "time": {"created": 1}, "version": "1"}',
        b'{"id": "a", "sessionID": "b", "role": "tool", "time": {"created": 1}}',
        b'{"type": "text", "sessionID": "ses_1", "part": {"id": "prt_1", "type": "text"}}',
        b"Exporting session: ses_1\n",
    ],
)
def test_similar_formats_are_not_recognised_as_opencode(data: bytes) -> None:
    assert not OpenCode().sniff(Probe(data))
    assert formats.sniff(data) is None
