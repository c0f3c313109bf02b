"""OpenCode's archives: one small file a trouble, in tests/archives/opencode."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnetl import formats
from turnetl.formats.base import ParsedArchive, Probe, RawTurn
from turnetl.formats.opencode import OpenCode
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

SMALL = Path(__file__).parents[1] / "archives" / "opencode"


def read(name: str) -> ParsedArchive:
    return OpenCode().read((SMALL / name).read_bytes())


def only(reading: ParsedArchive) -> RawTurn:
    (turn,) = reading.turns
    return turn


def nowhere(turn: RawTurn) -> RawTurn:
    """Return the turn without its place in a file."""
    return replace(turn, first_line=0, last_line=0, first_byte=0, last_byte=0)


def message(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    info = {"id": f"msg_{role}", "sessionID": "ses_1", "role": role, "time": {"created": 1}}
    return {"info": info | more, "parts": list(parts)}


def export(*messages: dict[str, Any], **info: Any) -> bytes:
    session = {"id": "ses_1", "title": "Cart", "time": {"created": 1}}
    return json.dumps({"info": session | info, "messages": messages}).encode()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(**state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": "bash", "state": {"input": {"command": "ls"}, **state}}


def test_a_turn_is_what_a_person_wrote_without_what_the_client_adds() -> None:
    prompts = [turn.user_text for turn in read("export.json").turns]
    assert prompts == ["The cart shows 0 for @src/cart.py", "[image]", "Now document it."]


def test_all_answers_to_a_prompt_are_its_turn_and_thinking_is_not_kept() -> None:
    turn = read("export.json").turns[0]
    assert turn.assistant_texts == ["I look at both files.", "The total is a sum now."]
    assert [(use.name, use.input, use.is_error) for use in turn.tool_calls] == [
        ("read", "/home/dev/shop/src/cart.py", False),
        ("bash", "pytest -q", False),
        ("edit", "src/cart.py :: - return 0 + return sum(items)", True),
        ("edit", "src/cart.py :: - return 0 + return sum(items)", False),
    ]
    assert turn.tool_calls[2].result == "oldString not found in content"
    assert turn.tool_calls[1].ended_at == datetime(2025, 11, 24, 18, 46, 41, 520_000, tzinfo=UTC)


def test_a_turn_knows_its_times_its_session_and_what_it_was_made_with() -> None:
    turn = read("export.json").turns[0]
    assert turn.started_at == datetime(2025, 11, 24, 18, 46, 41, tzinfo=UTC)
    assert turn.ended_at == datetime(2025, 11, 24, 18, 46, 47, 40_000, tzinfo=UTC)
    assert (turn.native_id, turn.prompt_id, turn.session_id) == ("msg_0001001",) * 2 + ("ses_0001",)
    assert (turn.model, turn.app_version) == ("claude-sonnet-4-5", "1.1.36")
    assert turn.cwd == read("export.json").cwd == "/home/dev/shop"


def test_tokens_are_those_of_each_message() -> None:
    turn = read("export.json").turns[0]
    assert list(turn.usage.values()) == [(100, 20), (200, 40), (300, 5)]


def test_a_message_of_several_steps_is_billed_for_each() -> None:
    steps = [{"type": "step-finish", "tokens": {"input": tokens, "output": 1}} for tokens in (5, 7)]
    answer = message("assistant", *steps, tokens={"input": 7, "output": 1})
    turn = only(OpenCode().read(export(message("user", text("Go.")), answer)))
    assert list(turn.usage.values()) == [(5, 1), (7, 1)]


def test_what_a_person_says_to_a_question_or_with_a_rejection_is_an_answer() -> None:
    reading = read("export.json")
    assert reading.turns[1].user_answers == [
        '"Which currency?"="EUR, two decimals"',
        "use make clean",
    ]
    assert reading.counts.user_answers == 2


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
def test_a_person_who_says_nothing_answers_nothing(state: dict[str, Any]) -> None:
    data = export(message("user", text("Go.")), message("assistant", tool(**state)))
    assert OpenCode().read(data).counts.user_answers == 0


def test_a_subagents_prompt_is_kept_and_its_session_has_no_turns_of_a_person() -> None:
    prompt = "Find every place that formats a price."
    assert read("export.json").turns[1].subagent_prompts == [prompt]
    reading = read("subagent.json")
    assert reading.turns == []
    assert (reading.counts.sidechain_rows, reading.counts.tool_calls) == (3, 1)


def test_a_command_that_a_person_runs_in_the_shell_is_no_turn_and_in_none() -> None:
    reading = read("store.json")
    assert reading.counts.skipped[SkipReason.SHELL_COMMAND] == 6
    assert "ls" not in [use.input for turn in reading.turns for use in turn.tool_calls]
    assert reading.counts.tool_calls == 10


def test_a_command_in_the_shell_is_known_though_its_answer_names_no_message() -> None:
    shell = text("The following tool was executed by the user", synthetic=True)
    prompt = message("user", text("Go."), id="msg_1")
    ran = message("assistant", tool(status="completed", output="src"))
    reading = OpenCode().read(export(prompt, message("user", shell), ran))
    assert only(reading).tool_calls == []
    assert reading.counts.tool_calls == 1


def test_a_turn_that_was_aborted_is_interrupted_and_its_call_waits() -> None:
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
def test_the_last_turn_is_over_where_the_agent_says_so(
    answer: dict[str, Any], closed_by: ClosedBy | None
) -> None:
    data = export(message("user", text("Go.")), message("assistant", text("Done."), **answer))
    assert only(OpenCode().read(data)).closed_by is closed_by


def test_the_agent_goes_on_after_a_call_whatever_the_model_says() -> None:
    ended = {"finish": "stop", "time": {"created": 2, "completed": 3}}
    answer = message("assistant", tool(status="completed", output="src"), **ended)
    assert only(OpenCode().read(export(message("user", text("Go.")), answer))).closed_by is None


def test_a_prompt_ends_the_turn_before_it() -> None:
    closed = [turn.closed_by for turn in read("export.json").turns]
    assert closed[:2] == [ClosedBy.NEXT_PROMPT] * 2


def test_export_and_store_of_a_session_give_the_same_turns() -> None:
    exported = [nowhere(turn) for turn in read("export.json").turns]
    for name in ("store.json", "store_pretty.json"):
        assert [nowhere(turn) for turn in read(name).turns] == exported
        assert read(name).counts.tool_calls == read("export.json").counts.tool_calls


def test_a_compaction_is_no_turn_its_summary_no_answer_and_what_it_cost_is_counted() -> None:
    first, _ = read("compaction.json").turns
    assert first.assistant_texts == ["I start.", "All decimals now."]
    assert len(first.usage) == 3


def test_a_prompt_that_comes_again_after_a_compaction_is_one_turn() -> None:
    reading = read("compaction.json")
    assert [turn.user_text for turn in reading.turns][1:] == ["Look at this."]
    assert reading.turns[1].assistant_texts == ["The bill is 12 EUR."]
    assert reading.counts.skipped[SkipReason.DUPLICATE] > 0


def test_the_same_words_typed_twice_are_two_turns() -> None:
    again = message("user", text("Go on."), id="msg_2")
    data = export(message("user", text("Go on.")), message("assistant", text("Yes.")), again)
    assert len(OpenCode().read(data).turns) == 2


def test_a_command_for_a_subagent_is_a_turn_and_its_result_is_none() -> None:
    turn = read("commands.json").turns[1]
    assert turn.user_text == "/review\n\nReview the last commit."
    assert turn.assistant_texts == ["The review found nothing."]
    assert turn.subagent_prompts == ["Review the last commit."]


def test_what_was_reverted_was_said_and_what_the_model_never_saw_is_no_prompt() -> None:
    assert b'"revert"' in (SMALL / "commands.json").read_bytes()
    assert len(read("commands.json").turns) == 2


def test_a_prompt_typed_while_the_agent_works_is_a_turn_of_its_own() -> None:
    first, second = read("out_of_order.json").turns
    assert second.started_at is not None
    assert first.ended_at is not None
    assert second.started_at < first.ended_at
    assert read("out_of_order.json").counts.steering == 0


def test_answers_find_their_prompt_in_any_order_and_others_the_one_before_them() -> None:
    first, second = read("out_of_order.json").turns
    assert [use.input for use in first.tool_calls] == ["pytest --durations=5"]
    assert second.assistant_texts == ["Faster, and the marker stays.", "P.S. 3 s now."]


def test_answers_before_the_first_prompt_are_a_preamble() -> None:
    reading = OpenCode().read(export(message("assistant", tool(status="completed", output=""))))
    assert reading.turns == []
    assert (reading.counts.skipped[SkipReason.PREAMBLE], reading.counts.tool_calls) == (1, 1)


def test_what_a_terminal_says_before_an_export_is_passed_over() -> None:
    reading = read("greeting.json")
    assert only(reading).user_text == "Rename total to sum_of."
    assert reading.counts.invalid_lines == 0


def test_an_export_that_is_cut_off_gives_the_turns_before_the_cut() -> None:
    reading = read("torn.json")
    assert [turn.user_text for turn in reading.turns] == ["First.", "Second."]
    assert (reading.counts.invalid_lines, reading.counts.first_invalid_line) == (1, 131)


def test_fields_of_another_type_count_as_missing_and_the_rest_is_read() -> None:
    first, second = read("crooked.json").turns
    assert first.started_at == datetime(2025, 11, 25, 14, 13, 21, tzinfo=UTC)
    assert first.cwd == "/home/dev/theme"
    assert (second.user_text, second.started_at) == ("And now?", None)
    assert read("crooked.json").counts.skipped[SkipReason.DUPLICATE] > 0


def test_a_store_with_broken_files_gives_what_the_others_hold() -> None:
    reading = read("store_broken.json")
    first, second = reading.turns
    assert first.assistant_texts == ["I add it."]
    assert (second.session_id, second.user_text) == ("ses_0010", "Of a session whose file is gone.")
    counts = reading.counts
    assert (counts.invalid_lines, counts.blank_lines, counts.tool_calls) == (2, 1, 2)
    assert counts.skipped[SkipReason.INVALID_JSON] == 3
    assert counts.skipped[SkipReason.ORPHAN] == 20


def test_messages_of_before_mid_2025_are_read_as_later_ones() -> None:
    turn = only(read("store_2025.json"))
    assert turn.assistant_texts == ["There is one.", "And one in tests."]
    assert (turn.model, turn.cwd) == ("claude-sonnet-4", "/home/dev/shop")
    assert [(use.name, use.result, use.is_error) for use in turn.tool_calls] == [
        ("grep", "routes.py:1", False),
        ("read", "An error occurred: no such file", True),
        ("bash", "", False),
    ]
    assert list(turn.usage.values()) == [(5, 3)]


def test_messages_of_opencode_2_are_read_as_those_before() -> None:
    first, second = read("second.json").turns
    assert (first.user_text, first.assistant_texts) == (
        "Sort the imports.",
        ["I sort them.", "Sorted."],
    )
    assert [(use.name, use.result, use.is_error) for use in first.tool_calls] == [
        ("bash", "Fixed 2.", False),
        ("bash", "Not allowed.", True),
    ]
    assert (first.model, first.cwd, first.parent_session_id) == (
        "gpt-5",
        "/home/dev/shop",
        "ses_0001",
    )
    assert second.closed_by is ClosedBy.INTERRUPTED


def test_an_idle_session_has_ended_its_turn() -> None:
    data = json.loads((SMALL / "second.json").read_bytes())
    data["messages"] = data["messages"][:7]
    assert only(OpenCode().read(json.dumps(data).encode())).closed_by is ClosedBy.SESSION_END


def test_ids_that_others_may_use_too_are_kept_apart_by_their_session() -> None:
    natives = [turn.native_id for turn in read("rewritten.json").turns]
    assert natives == ["session-of-another-tool:msg-1", "session-of-another-tool:msg-3"]


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
def test_what_only_looks_like_it_is_left_alone(data: bytes) -> None:
    assert not OpenCode().sniff(Probe(data))
    assert formats.sniff(data) is None
