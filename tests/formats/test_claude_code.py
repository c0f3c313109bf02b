"""Claude Code archives: each sample in tests/archives/claude_code shows one difficulty."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.usage import tokens
from turnetl import formats
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.claude import ClaudeCode, ClaudeWeb, machine_text
from turnetl.formats.port import ParsedArchive, RawTurn

ARCHIVES = Path(__file__).parents[1] / "archives"


def read(name: str) -> ParsedArchive:
    return ClaudeCode().read((ARCHIVES / "claude_code" / name).read_bytes())


def only(parsed: ParsedArchive) -> RawTurn:
    (turn,) = parsed.turns
    return turn


def is_accounted(parsed: ParsedArchive) -> bool:
    counts = parsed.counts
    return counts.lines == counts.used + sum(counts.skipped.values())


def test_the_usage_of_a_message_on_several_lines_counts_once_with_its_last_values() -> None:
    assert tokens(only(read("streaming.jsonl"))) == [
        (10, None, None, 40, None),
        (20, None, None, 7, None),
    ]


def test_results_match_their_calls_between_the_lines_of_a_message() -> None:
    calls = only(read("streaming.jsonl")).tool_calls
    assert [(call.name, call.input, call.result, call.is_error) for call in calls] == [
        ("Bash", "pytest -q", "1 failed", True),
        ("Read", "/home/dev/shop/cart.py", "def cart(): ...", False),
    ]


def test_assistant_texts_keep_their_order_and_reasoning_is_omitted() -> None:
    texts = only(read("streaming.jsonl")).assistant_texts
    assert texts == ["Let me look at it.", "Both ran.", "The cart is empty."]


def test_a_turn_has_its_times_and_its_lines_and_bytes() -> None:
    turn = only(read("streaming.jsonl"))
    data = (ARCHIVES / "claude_code" / "streaming.jsonl").read_bytes()
    assert turn.started_at == datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC)
    assert turn.ended_at == datetime(2026, 3, 2, 9, 0, 9, tzinfo=UTC)
    assert (turn.first_line, turn.last_line) == (1, 9)
    assert data[turn.first_byte : turn.last_byte] == data.removesuffix(b"\n")


def test_subagent_rows_in_the_file_are_counted_and_are_not_turns() -> None:
    parsed = read("sidechain_inline.jsonl")
    turn = only(parsed)
    assert parsed.counts.sidechain_rows == 4
    assert [call.name for call in turn.tool_calls] == ["Task"]
    assert turn.subagent_prompts == ["Read cart.py and report."]
    assert turn.assistant_texts == ["cart.py is a stub."]


def test_the_file_of_a_subagent_has_rows_and_no_turn() -> None:
    parsed = read("agent-a1b2c3.jsonl")
    assert parsed.turns == []
    assert parsed.counts.sidechain_rows == 4
    assert parsed.counts.tool_calls == 1
    assert parsed.cwd == "/home/dev/shop"


def test_text_typed_while_the_agent_works_is_steering_of_the_turn() -> None:
    parsed = read("steering.jsonl")
    first, second = parsed.turns
    assert first.steering == [
        "use git mv please",
        "and the tests too",
        "mention it in the README",
    ]
    assert second.user_text == "now run the tests"
    assert second.steering == []
    assert parsed.counts.steering == 3


def test_text_in_tool_results_is_an_answer_and_a_rejection_without_text_is_not_an_answer() -> None:
    parsed = read("answers.jsonl")
    assert only(parsed).user_answers == ["use Decimal, not float", '"How many digits?"="two"']
    assert parsed.counts.user_answers == 2


def test_an_edit_has_its_path_and_the_first_changed_line() -> None:
    edit = only(read("answers.jsonl")).tool_calls[0]
    assert edit.input == "/home/dev/shop/cart.py :: - return 0 + return 1"


def test_a_slash_command_is_a_turn_only_if_it_calls_the_model() -> None:
    parsed = read("slash.jsonl")
    turn = only(parsed)
    assert turn.user_text == "/pr for the cart fix"
    assert turn.assistant_texts == ["Title: mend the cart", "The review is done."]
    assert parsed.counts.skipped == {
        SkipReason.META: 2,
        SkipReason.LOCAL_COMMAND: 4,
        SkipReason.SHELL_COMMAND: 2,
        SkipReason.NOTIFICATION: 1,
        SkipReason.SYSTEM: 1,
    }


def test_an_exit_command_closes_the_last_turn() -> None:
    assert only(read("slash.jsonl")).closed_by is ClosedBy.SESSION_END


def test_prompts_that_look_like_client_text_are_turns() -> None:
    assert [turn.user_text for turn in read("prompts.jsonl").turns] == [
        "Implement the following plan:\n\n# Mend the cart\n\n---\n\n1. Test it.",
        "What does this file do?",
        "[image]",
        "[test:e2e] $ go test ./...\nwhat does this mean?",
        "<div> or <span>, which one?",
    ]


def test_a_turn_is_interrupted_if_nothing_follows_the_interrupt() -> None:
    turns = read("interrupts.jsonl").turns
    assert [(turn.user_text, turn.closed_by) for turn in turns] == [
        ("Run everything.", ClosedBy.INTERRUPTED),
        ("Only the tests.", ClosedBy.NEXT_PROMPT),
        ("Commit it.", ClosedBy.INTERRUPTED),
        ("Push it.", ClosedBy.INTERRUPTED),
    ]
    assert turns[-1].assistant_texts == []


def test_a_compaction_neither_opens_nor_closes_a_turn() -> None:
    turn = only(read("compaction.jsonl"))
    assert turn.assistant_texts == ["On it.", "Mended.", "Still here."]
    assert turn.closed_by is None


def test_concatenated_invalid_and_blank_lines_are_counted_and_lose_no_turn() -> None:
    parsed = read("lines.jsonl")
    counts = parsed.counts
    assert [turn.user_text for turn in parsed.turns] == [
        "Mend the cart.",
        "Thanks, push it.",
        "One more.",
    ]
    assert (counts.invalid_lines, counts.concatenated_lines, counts.blank_lines) == (3, 1, 2)
    assert counts.first_invalid_line == 5
    assert counts.skipped == {
        SkipReason.INVALID_JSON: 2,
        SkipReason.BLANK: 2,
        SkipReason.NOT_AN_OBJECT: 2,
    }


def test_only_line_feeds_end_a_line() -> None:
    parsed = read("separators.jsonl")
    assert parsed.counts.lines == 2
    assert only(parsed).user_text == "Cut here?\u2028No, only at line feeds."


def test_a_field_of_another_type_is_missing_and_the_rest_of_the_row_counts() -> None:
    parsed = read("crooked.jsonl")
    first, second = parsed.turns
    assert (first.started_at, first.cwd) == (None, "/home/dev/shop")
    assert first.assistant_texts == ["bare text"]
    assert [(call.name, call.input) for call in first.tool_calls] == [("Bash", "ls")]
    assert tokens(first) == [(0, None, None, 3, None)]
    assert second.user_text == "A half ? character."
    assert parsed.counts.invalid_lines == 0


def test_rows_before_the_first_prompt_and_duplicate_rows_belong_to_no_turn() -> None:
    parsed = read("slice.jsonl")
    turn = only(parsed)
    assert turn.assistant_texts == ["Going on."]
    assert (turn.app_version, turn.git_branch) == ("2.1.12", "main")
    assert parsed.counts.skipped[SkipReason.PREAMBLE] == 3
    assert parsed.counts.skipped[SkipReason.DUPLICATE] == 1
    assert parsed.counts.steering == 1


def test_a_second_session_in_a_file_has_the_first_as_its_parent() -> None:
    turns = read("two_sessions.jsonl").turns
    first, second = turns[0].session_id, turns[1].session_id
    assert [(turn.session_id, turn.ordinal, turn.parent_session_id) for turn in turns] == [
        (first, 0, None),
        (second, 0, first),
        (second, 1, first),
    ]
    assert turns[0].closed_by is ClosedBy.NEXT_PROMPT


def test_a_prompt_without_an_id_is_identified_by_session_and_ordinal() -> None:
    turns = read("bare.jsonl").turns
    assert [turn.native_id for turn in turns] == [
        f"{turns[0].session_id}:{ordinal}" for ordinal in (0, 1)
    ]
    assert [turn.prompt_id for turn in turns] == [None, None]


ANNOUNCEMENT = """<command-message>The "pdf" skill is loading</command-message>
<command-name>pdf</command-name>"""
ALL_SAMPLES = b"".join(
    path.read_bytes() for path in sorted((ARCHIVES / "claude_code").glob("*.jsonl"))
)
VALID_LINES = (ARCHIVES / "claude_code" / "streaming.jsonl").read_bytes().splitlines()
ROWS = st.sampled_from([json.loads(line) for line in VALID_LINES])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(ROWS, st.data())
def test_no_value_in_any_field_raises(row: dict[str, object], data: st.DataObject) -> None:
    field = data.draw(st.sampled_from([*row, "message.content", "message.usage", "message"]))
    message = row.get("message")
    value = data.draw(JSON)
    damaged = dict(row)
    if field.startswith("message.") and isinstance(message, dict):
        damaged["message"] = message | {field.removeprefix("message."): value}
    else:
        damaged[field] = value
    line = json.dumps(damaged).encode()
    assert is_accounted(ClaudeCode().read(ALL_SAMPLES + line + b"\n" + line))


def test_a_too_deeply_nested_line_is_invalid() -> None:
    deep = b'{"type":"user","uuid":"u","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    parsed = ClaudeCode().read(deep + b"\n" + ALL_SAMPLES.split(b"\n", 1)[0])
    assert is_accounted(parsed)
    assert parsed.counts.invalid_lines == 1


def test_a_message_that_is_removed_from_the_queue_and_attached_counts_once() -> None:
    first, _ = read("queued_commands.jsonl").turns
    assert first.steering == [
        "Prices in cents, please.",
        "And no floats.",
        "Rename it to basket.",
    ]


def test_a_message_withdrawn_from_the_queue_is_not_steering() -> None:
    first, _ = read("queued_commands.jsonl").turns
    assert "Forget the tests." not in first.steering


def test_text_with_another_origin_than_the_user_opens_no_turn() -> None:
    parsed = read("queued_commands.jsonl")
    assert [turn.user_text for turn in parsed.turns] == [
        "Add a cart to the shop.",
        "/review the cart",
    ]
    assert parsed.counts.skipped[SkipReason.NOTIFICATION] == 3
    assert parsed.turns[0].assistant_texts == ["Working.", "Done.", "Good."]


def test_an_exit_command_closes_the_turn_if_local_commands_are_system_rows() -> None:
    _, last = read("queued_commands.jsonl").turns
    assert last.closed_by is ClosedBy.SESSION_END


def test_the_text_of_a_rejection_in_a_field_of_its_own_is_an_answer() -> None:
    rejected = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "denied"}
    rows = [
        {"type": "user", "uuid": "u1", "message": {"content": "Clear the cart."}},
        {
            "type": "user",
            "uuid": "u2",
            "message": {"content": [rejected]},
            "userFeedback": "not it",
        },
    ]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    assert only(ClaudeCode().read(data)).user_answers == ["not it"]


def test_commands_and_skills_that_the_model_calls_are_not_prompts() -> None:
    parsed = read("launched.jsonl")
    assert [turn.user_text for turn in parsed.turns] == [
        "Make a price list.",
        "/pdf",
        "/pdf in colour",
    ]
    assert parsed.turns[0].assistant_texts == ["The list is made."]
    assert parsed.turns[0].steering == []
    assert parsed.counts.skipped[SkipReason.SKILL_CALL] == 2


def test_announcements_beside_a_result_are_not_steering() -> None:
    called = {"type": "tool_use", "id": "t1", "name": "Skill", "input": {"command": "pdf"}}
    beside = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "Launching skill: pdf"},
        {"type": "text", "text": ANNOUNCEMENT},
        {"type": "text", "text": "Base directory for this skill: /home/dev/skills/pdf"},
    ]
    rows = [
        {"type": "user", "uuid": "u1", "message": {"content": "Make a price list."}},
        {"type": "assistant", "uuid": "a1", "message": {"id": "m1", "content": [called]}},
        {"type": "user", "uuid": "u2", "message": {"content": beside}},
    ]
    parsed = ClaudeCode().read("\n".join(map(json.dumps, rows)).encode())
    assert (parsed.counts.turns, parsed.counts.steering) == (1, 0)


def test_a_message_delivered_twice_in_different_forms_counts_once() -> None:
    parsed = read("queue_order.jsonl")
    assert parsed.turns[0].steering == [
        "in pieces, please",
        "shelf one\nshelf two",
        "and this shelf",
    ]


def test_a_queued_message_that_returns_as_a_prompt_is_not_steering() -> None:
    _, prices, again = read("queue_order.jsonl").turns
    assert (prices.user_text, prices.steering) == ("Now the prices.", [])
    assert (again.user_text, again.steering) == ("go on", ["go on"])


def test_the_text_of_a_rejection_is_an_answer_for_any_introduction() -> None:
    assert read("refusals.jsonl").turns[0].user_answers == ["smaller steps", '"Cents?"="yes"']


def test_text_after_an_interrupt_is_a_prompt_and_the_interrupt_closes_the_previous_turn() -> None:
    shown, leave, _ = read("refusals.jsonl").turns
    assert (shown.user_text, shown.closed_by) == ("[document]", ClosedBy.INTERRUPTED)
    assert leave.user_text == "leave the tests"


def test_a_prompt_that_quotes_an_interrupt_does_not_interrupt() -> None:
    last = read("refusals.jsonl").turns[-1]
    assert last.user_text == "[Request interrupted by user] stands in my log, why?"
    assert last.closed_by is None


def test_hooks_and_other_sessions_do_not_close_the_current_turn() -> None:
    parsed = read("refusals.jsonl")
    assert parsed.turns[1].assistant_texts == ["Left.", "Committed.", "Noted."]
    assert parsed.counts.skipped == {SkipReason.HOOK_FEEDBACK: 1, SkipReason.NOTIFICATION: 1}


@pytest.mark.parametrize(
    "row",
    [
        {"type": "permission-mode", "permissionMode": "plan", "sessionId": "s"},
        {"type": "bridge-session", "bridgeSessionId": "b", "sessionId": "s"},
        {"type": "mode", "mode": "normal", "sessionId": "s"},
        {"type": "row-of-a-later-release", "sessionId": "6d0c7c1e-1f5b-4d53-9a55-0c5f0f6f2a10"},
        {"type": "last-prompt", "lastPrompt": "Mend it.", "sessionId": "s"},
        {"type": "attachment", "uuid": "a1", "attachment": {"type": "skill_listing"}},
    ],
    ids=lambda row: row["type"],
)
def test_a_session_without_messages_is_recognised_and_has_no_turn(row: dict[str, object]) -> None:
    data = json.dumps(row).encode()
    assert formats.sniff(data) is formats.by_name("claude_code")
    assert ClaudeCode().read(data).turns == []


def test_a_session_reduced_to_texts_and_times_is_recognised() -> None:
    rows = [
        {"type": kind, "timestamp": "2026-03-02T09:00:00Z", "message": {"role": kind, "content": x}}
        for kind, x in (("user", "Mend it."), ("assistant", "Mended."))
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    assert formats.sniff(data) is formats.by_name("claude_code")
    assert only(ClaudeCode().read(data)).assistant_texts == ["Mended."]


def test_an_export_with_an_uninformative_first_row_is_recognised() -> None:
    title = {"type": "summary", "summary": "The cart", "leafUuid": "u1"}
    prompt = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Mend it."}}
    data = json.dumps({"loglines": [title, prompt]}).encode()
    assert formats.sniff(data) is formats.by_name("claude_web")
    assert only(ClaudeWeb().read(data)).user_text == "Mend it."


def test_a_rejection_on_one_line_has_its_text() -> None:
    refusal = "The user doesn't want to proceed. To tell you how to proceed, the user said: smaller"
    assert machine_text.user_answer(refusal, is_error=True) == "smaller"


def test_output_of_a_failed_tool_is_not_an_answer() -> None:
    printed = "Exit code 1\nlog: To tell you how to proceed, the user said:\nsmaller steps"
    failed = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": printed}
    rows = [
        {"type": "user", "uuid": "u1", "message": {"content": "Read the log."}},
        {"type": "user", "uuid": "u2", "message": {"content": [failed]}},
    ]
    assert only(ClaudeCode().read("\n".join(map(json.dumps, rows)).encode())).user_answers == []


def test_a_message_dequeued_into_the_running_turn_is_steering_and_a_meta_attachment_is_not() -> (
    None
):
    def attached(text: str, uuid: str, **more: object) -> dict[str, object]:
        attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": text, **more}
        return {"type": "attachment", "uuid": uuid, "attachment": attachment}

    rows = [
        {"type": "user", "uuid": "u1", "message": {"content": "Count the stock."}},
        {"type": "queue-operation", "operation": "enqueue", "content": "by shelf"},
        {"type": "queue-operation", "operation": "dequeue", "reason": "absorbed_mid_turn"},
        attached("by shelf", "a1"),
        attached("The till is closed.", "a2", isMeta=True),
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    assert only(ClaudeCode().read(data)).steering == ["by shelf"]


def as_lines(*rows: Mapping[str, object]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def test_a_fork_that_copies_rows_under_new_ids_has_the_ids_of_the_originals() -> None:
    first = {"type": "user", "uuid": "u1", "sessionId": "s1", "message": {"content": "Start."}}
    origin = {"sessionId": "s1", "messageUuid": "u1"}
    copied = first | {"uuid": "u7", "sessionId": "s2", "forkedFrom": origin}
    own = {"type": "user", "uuid": "u8", "sessionId": "s2", "message": {"content": "Turn left."}}
    turns = ClaudeCode().read(as_lines(copied, own)).turns
    assert [turn.native_id for turn in turns] == ["u1", "u8"]
    assert [turn.session_id for turn in turns] == ["s2", "s2"]


def test_times_may_be_numbers_and_a_turn_does_not_end_before_it_starts() -> None:
    prompt = {"type": "user", "uuid": "u1", "message": {"content": "Start."}}
    answer = {"type": "assistant", "uuid": "a1", "message": {"id": "m1", "content": "Done."}}
    for time in (1_772_442_001, 1_772_442_001_000, "2026-03-02T09:00:01Z"):
        rows = prompt | {"timestamp": time}, answer | {"timestamp": "2025-01-01T00:00:00Z"}
        turn = only(ClaudeCode().read(as_lines(*rows)))
        assert turn.started_at == datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC)
        assert turn.ended_at == turn.started_at


def test_rows_of_a_tool_with_the_names_of_claude_code_and_other_content_are_not_its_session() -> (
    None
):
    row = {"uuid": "u1", "parentUuid": None, "sessionId": "s1", "type": "user"}
    parts = {"role": "user", "parts": [{"text": "Fix it."}]}
    data = as_lines(
        row | {"message": parts}, row | {"type": "system", "subtype": "x", "uuid": "u2"}
    )
    assert formats.sniff(data) is formats.by_name("qwen")


def test_rows_without_messages_are_counted_under_their_reasons() -> None:
    parsed = read("new_rows.jsonl")
    assert parsed.turns == []
    assert parsed.counts.skipped == {
        SkipReason.SESSION_METADATA: 3,
        SkipReason.COMPACTION: 1,
        SkipReason.SNAPSHOT: 1,
        SkipReason.HISTORY: 1,
        SkipReason.EVENT: 1,
        SkipReason.OTHER: 1,
    }


def test_any_number_of_rows_without_messages_before_the_first_prompt_hides_no_session() -> None:
    lines = [(ARCHIVES / "claude_code" / "new_rows.jsonl").read_bytes()] * 20
    data = b"".join(lines) + (ARCHIVES / "claude_code" / "prompts.jsonl").read_bytes()
    assert formats.sniff(data) is formats.by_name("claude_code")
    assert ClaudeCode().read(data).counts.turns == 5


def test_a_fork_with_new_ids_repeats_the_turns_of_its_original() -> None:
    (original,) = read("fork_original.jsonl").turns
    copy, own = read("fork_remapped.jsonl").turns
    assert (copy.native_id, copy.assistant_texts) == (original.native_id, ["Planned."])
    assert copy.parent_session_id == original.session_id
    assert (own.user_text, own.native_id) == ("Try another way.", own.prompt_id)


def test_a_fork_in_the_file_of_its_original_adds_only_its_own_turns() -> None:
    names = ("fork_original.jsonl", "fork_remapped.jsonl")
    data = b"".join((ARCHIVES / "claude_code" / name).read_bytes() for name in names)
    parsed = ClaudeCode().read(data)
    assert [turn.user_text for turn in parsed.turns] == ["Plan the shop.", "Try another way."]
    assert parsed.counts.skipped[SkipReason.DUPLICATE] == 4


def test_rows_that_name_the_same_origin_with_other_content_are_not_copies() -> None:
    origin = {"forkedFrom": {"sessionId": "old", "messageUuid": "m"}, "sessionId": "new"}
    rows = [
        {"type": "user", "uuid": f"u{text}", "message": {"content": text}} | origin
        for text in ("one", "two", "one")
    ]
    parsed = ClaudeCode().read("\n".join(map(json.dumps, rows)).encode())
    assert [turn.user_text for turn in parsed.turns] == ["one", "two"]


def test_prompts_and_responses_that_are_written_again_with_new_ids_are_duplicates() -> None:
    parsed = read("replays.jsonl")
    assert [(turn.user_text, turn.assistant_texts) for turn in parsed.turns] == [
        ("List the files.", ["One file."]),
        ("And the tests?", ["None."]),
        ("And the tests?", ["Still none.", "Shall I write one?"]),
        ("Yes.", []),
    ]
    assert [call.name for turn in parsed.turns for call in turn.tool_calls] == ["Bash"]
    assert parsed.turns[0].usage.keys() == {"msg_1", "msg_2"}
    assert parsed.counts.skipped[SkipReason.DUPLICATE] == 8
    assert is_accounted(parsed)


def test_a_turn_before_a_repetition_at_the_end_of_the_file_is_open() -> None:
    lines = (ARCHIVES / "claude_code" / "replays.jsonl").read_bytes().splitlines(keepends=True)
    first, second = ClaudeCode().read(b"".join(lines[:14])).turns
    assert (first.closed_by, second.closed_by) == (ClosedBy.NEXT_PROMPT, None)


def test_another_text_under_the_id_of_a_prompt_is_counted_as_a_variant() -> None:
    assert read("replays.jsonl").counts.skipped[SkipReason.VARIANT] == 1


def test_results_without_the_id_of_their_call_are_never_repetitions() -> None:
    typed = {"type": "text", "text": "go on"}
    for call, steering in ((None, ["go on", "go on"]), ("t1", ["go on"])):
        result = {"type": "tool_result", "tool_use_id": call, "content": "ok"}
        prompt = {"type": "user", "uuid": "u0", "message": {"content": "Begin."}}
        rows = [
            {"type": "user", "uuid": f"u{number}", "message": {"content": [result, typed]}}
            for number in (1, 2)
        ]
        assert only(ClaudeCode().read(as_lines(prompt, *rows))).steering == steering


def test_a_plan_that_is_accepted_with_a_new_context_ends_without_the_agents_note() -> None:
    note = (
        "If you need specific details from before exiting plan mode (like exact code snippets, "
        "error messages, or content you generated), read the full transcript at: /a/b.jsonl"
    )
    plan = "Implement the following plan:\n\n# Cart\n1. Store it."
    assert machine_text.without_context(f"{plan}\n\n\n{note}\n") == plan
    quoted = f"What does this mean?\n{note}\nIs it yours?"
    assert machine_text.without_context(quoted) == quoted
