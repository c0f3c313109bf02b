"""Codex's rollouts: one small file a trouble, in tests/archives/codex and codex_json."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnetl import formats
from turnetl.formats.base import ParsedArchive, RawToolCall, RawTurn
from turnetl.formats.codex import Codex, CodexDocument
from turnetl.formats.kit.probe import Probe
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

SMALL = Path(__file__).parents[1] / "archives"
PARENT = "019cadc6-9a80-7abc-8000-000000000001"


def read(name: str) -> ParsedArchive:
    return Codex().read((SMALL / "codex" / name).read_bytes())


def document(name: str) -> ParsedArchive:
    return CodexDocument().read((SMALL / "codex_json" / name).read_bytes())


def texts(reading: ParsedArchive) -> list[str]:
    return [turn.user_text for turn in reading.turns]


def at(hour: int, minute: int, second: int, millisecond: int = 0) -> datetime:
    return datetime(2026, 3, 2, hour, minute, second, millisecond * 1000, tzinfo=UTC)


def rollout(*payloads: tuple[str, dict[str, Any]]) -> ParsedArchive:
    """Read rows made on the spot."""
    rows = ({"timestamp": "", "type": kind, "payload": payload} for kind, payload in payloads)
    return Codex().read("\n".join(map(json.dumps, rows)).encode())


def prompt(text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": "user_message", "message": text}


def tool_of(call: dict[str, Any], *after: tuple[str, dict[str, Any]]) -> RawToolCall:
    (turn,) = rollout(prompt("x"), ("response_item", {"call_id": "1"} | call), *after).turns
    (tool,) = turn.tool_calls
    return tool


def came_of(output: object) -> tuple[str, bool]:
    call: dict[str, Any] = {"type": "function_call", "name": "shell", "arguments": "{}"}
    came = {"type": "function_call_output", "call_id": "1", "output": output}
    tool = tool_of(call, ("response_item", came))
    return tool.result, tool.is_error


def test_what_is_written_twice_is_said_once() -> None:
    reading = read("twice.jsonl")
    assert texts(reading) == ["Why is the total 0?", "Mend it"]
    assert [turn.assistant_texts for turn in reading.turns] == [
        ["Let me look.", "It returns 0."],
        ["Done."],
    ]


def test_calls_side_by_side_find_their_outcomes() -> None:
    looked, mended = read("twice.jsonl").turns
    assert [(tool.name, tool.input, tool.result, tool.is_error) for tool in looked.tool_calls] == [
        ("exec_command", "pytest -q", "Exit code 1\n1 failed", True),
        ("shell", "cat cart.py", "def total(): return 0\n", False),
    ]
    assert [tool.ended_at for tool in looked.tool_calls] == [at(9, 0, 15), at(9, 0, 14)]
    assert [tool.input for tool in mended.tool_calls] == ["cart.py :: - return 0 + return total"]


def test_a_request_is_billed_once_though_it_is_reported_again() -> None:
    looked, mended = read("twice.jsonl").turns
    assert sorted(looked.usage.values()) == [(100, 10), (150, 20)]
    assert sorted(mended.usage.values()) == [(150, 30)]


def test_a_turn_knows_where_and_with_what_it_was_made() -> None:
    looked, mended = read("twice.jsonl").turns
    assert looked.session_id == PARENT
    assert looked.prompt_id == looked.native_id == "019cadc6-c190-7abc-8000-000000000002"
    assert (looked.started_at, looked.ended_at) == (at(9, 0, 10, 100), at(9, 0, 20, 200))
    assert (looked.model, looked.git_branch, looked.app_version) == (
        "gpt-5.3-codex",
        "main",
        "0.114.0",
    )
    assert (looked.cwd, mended.cwd) == ("/home/dev/shop", "/home/dev/shop/src")


def test_the_end_of_a_task_ends_the_last_turn() -> None:
    closed = [turn.closed_by for turn in read("twice.jsonl").turns]
    assert closed == [ClosedBy.NEXT_PROMPT, ClosedBy.SESSION_END]


def test_a_prompt_in_the_midst_of_a_task_is_a_turn_that_steers() -> None:
    reading = read("steering.jsonl")
    assert reading.counts.steering == 1
    assert texts(reading)[:2] == ["Write the tests", "and skip the slow ones"]
    assert reading.turns[1].native_id == f"{reading.turns[0].native_id}:1"


def test_a_task_that_broke_off_without_a_word_does_not_make_the_next_prompt_steer() -> None:
    began = {"type": "task_started", "turn_id": "1"}
    reading = rollout(
        ("event_msg", began), prompt("one"), ("event_msg", began), prompt("two"), prompt("three")
    )
    assert reading.counts.turns == 3
    assert reading.counts.steering == 1


def test_a_prompt_that_stands_before_the_begin_of_its_task_is_that_tasks_prompt() -> None:
    began, ended = {"type": "task_started", "turn_id": "1"}, {"type": "task_complete"}
    steered = rollout(prompt("one"), ("event_msg", began), prompt("two"), ("event_msg", ended))
    assert steered.counts.steering == 1


def test_answers_to_the_agents_questions_belong_to_the_turn() -> None:
    reading = read("steering.jsonl")
    assert reading.counts.user_answers == 1
    assert reading.turns[0].user_answers == ["pytest; user_note: no fixtures"]


def test_an_abort_interrupts_the_turn_and_the_next_prompt_leaves_it_so() -> None:
    _, _, deployed, last = read("steering.jsonl").turns
    assert deployed.closed_by is ClosedBy.INTERRUPTED
    assert [(tool.result, tool.is_error) for tool in deployed.tool_calls] == [
        ("aborted by user after 4.0s", True)
    ]
    assert last.closed_by is None


def test_bare_items_are_told_by_their_words_and_dated_by_their_session() -> None:
    reading = read("bare.jsonl")
    assert texts(reading) == ["[cart] <total> is wrong", "[image]"]
    first = reading.turns[0]
    assert first.native_id == "0d1e2f3a-1111-4222-8333-444455556666:0"
    assert {turn.started_at for turn in reading.turns} == {
        datetime(2025, 8, 9, 15, 19, 15, tzinfo=UTC)
    }
    assert (first.git_branch, first.cwd, reading.cwd) == ("dev", "/home/dev/shop", "/home/dev/shop")
    assert [(tool.name, tool.input, tool.result, tool.is_error) for tool in first.tool_calls] == [
        ("shell", "pytest -q", "Exit code 1\n1 failed", True),
        ("local_shell", "git status", "clean", False),
    ]


def test_items_without_a_time_are_dated_by_the_ids_that_the_server_gave_them() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "s", "timestamp": "2025-06-06T10:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "reasoning", "id": "rs_6842c014b734819297f3c03c8e7b7afe08816fbe83d2026c"},
        {"type": "reasoning", "id": "rs_6842c024b734819297f3c03c8e7b7afe08816fbe83d2026c"},
        {"type": "reasoning", "id": "rs_0c42c024b734819297f3c03c8e7b7afe08816fbe83d2026c"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "y"}]},
    ]
    first, second = Codex().read("\n".join(map(json.dumps, rows)).encode()).turns
    assert first.started_at == datetime(2025, 6, 6, 10, 16, 52, tzinfo=UTC)
    assert first.ended_at == datetime(2025, 6, 6, 10, 17, 8, tzinfo=UTC)
    assert (second.started_at, second.ended_at) == (first.ended_at, None)


def test_a_session_that_goes_on_in_a_younger_one_is_no_fork_of_it() -> None:
    old = read("old.jsonl")
    lines = [(SMALL / "codex" / name).read_bytes() for name in ("old.jsonl", "resumed.jsonl")]
    both = Codex().read(b"".join(lines)).turns
    assert [turn.native_id for turn in both[:2]] == [turn.native_id for turn in old.turns]
    assert [turn.parent_session_id for turn in both] == [None] * 4
    assert both[2].session_id == read("resumed.jsonl").turns[0].session_id
    assert both[2].ended_at is not None


def test_a_fork_repeats_its_parents_turns_under_their_ids_and_at_their_times() -> None:
    told, forked = read("twice.jsonl").turns, read("fork.jsonl").turns
    assert [turn.native_id for turn in forked[:2]] == [turn.native_id for turn in told]
    assert [turn.session_id for turn in forked[:2]] == [PARENT, PARENT]
    assert [turn.started_at for turn in forked[:2]] == [at(9, 0, 10), at(9, 1, 0)]
    assert [(turn.ended_at, turn.tool_calls[0].ended_at) for turn in forked[:2]] == [
        (None, None)
    ] * 2


def test_what_a_fork_adds_is_its_own() -> None:
    own = read("fork.jsonl").turns[2]
    assert own.session_id == "019cae12-e5c0-7abc-8000-000000000008"
    assert (own.ordinal, own.parent_session_id) == (0, PARENT)
    assert (own.started_at, own.ended_at) == (at(10, 23, 25, 100), at(10, 23, 31))


def test_a_fork_of_a_fork_leaves_each_turn_to_the_session_it_was_said_in() -> None:
    lines = (SMALL / "codex" / "fork.jsonl").read_bytes()
    meta = {
        "id": "019cae80-0000-7abc-8000-000000000099",
        "forked_from_id": "019cae12-e5c0-7abc-8000-000000000008",
    }
    first = {"timestamp": "2026-03-02T12:00:00Z", "type": "session_meta", "payload": meta}
    before = read("fork.jsonl").turns
    after = Codex().read(json.dumps(first).encode() + b"\n" + lines).turns
    assert [(turn.native_id, turn.session_id) for turn in after] == [
        (turn.native_id, turn.session_id) for turn in before
    ]
    assert after[2].started_at == at(10, 23, 25)


def test_a_fork_from_before_turns_had_ids_is_told_by_the_pause_behind_the_copies() -> None:
    told, forked = read("old.jsonl").turns, read("old_fork.jsonl").turns
    assert [turn.native_id for turn in forked[:2]] == [turn.native_id for turn in told]
    assert [turn.started_at for turn in forked[:2]] == [at(9, 1, 40)] * 2
    third = forked[2]
    assert third.native_id == "bbbbbbbb-1111-4222-8333-444455556666:0"
    assert third.parent_session_id == "aaaaaaaa-1111-4222-8333-444455556666"
    assert third.started_at == at(9, 15, 30)


def test_nobody_speaks_in_a_subagents_own_rollout() -> None:
    counts = read("subagent.jsonl").counts
    assert (counts.turns, counts.sidechain_rows, counts.tool_calls) == (0, 8, 1)


def test_a_prompt_is_what_was_asked_without_what_the_editor_put_before_it() -> None:
    assert texts(read("resumed.jsonl")) == ["Search the web", "[image]"]
    (turn,) = rollout(prompt("# My plan\n\n## My request for Codex:\nread it")).turns
    assert turn.user_text.startswith("# My plan")


def test_every_kind_of_call_is_one() -> None:
    turn = read("resumed.jsonl").turns[0]
    assert [(tool.name, tool.input, tool.result, tool.is_error) for tool in turn.tool_calls] == [
        ("web_search", "cart total", "", False),
        (
            "spawn_agent",
            '{"message":"Look for callers","agent_type":"explorer"}',
            '{"agent_id":"x"}',
            False,
        ),
        ("mcp__shop__prices", '{"sku":7}', "tool failed", True),
        ("tool_search", '{"query":"prices"}', '[{"name":"prices"}]', False),
        ("image_generation", "A cart", "[image]", False),
    ]
    assert turn.subagent_prompts == ["Look for callers"]


def test_a_review_is_said_once_with_its_findings() -> None:
    said = read("resumed.jsonl").turns[0].assistant_texts
    assert said == ["Found.", "Tax is missing.", "The total ignores tax."]


def test_what_is_no_turn_says_why() -> None:
    skipped = read("resumed.jsonl").counts.skipped
    assert {
        SkipReason.COMPACTION,
        SkipReason.SHELL_COMMAND,
        SkipReason.REVIEW,
        SkipReason.WARNING,
        SkipReason.INSTRUCTIONS,
    } <= skipped.keys()


def test_the_newest_rollouts_have_items_in_place_of_events() -> None:
    reading = read("items.jsonl")
    plan, shorter = reading.turns
    assert texts(reading) == ["Plan it", "shorter"]
    assert (reading.counts.steering, shorter.native_id) == (1, f"{plan.native_id}:1")
    assert plan.assistant_texts == [
        "Here is a plan.\n\n<proposed_plan>\n1. Tests\n</proposed_plan>"
    ]
    assert plan.usage == {"resp_1": (7, 3)}
    assert [(tool.result, tool.is_error) for tool in plan.tool_calls] == [
        ("cart.py\n[input_image]", True)
    ]
    assert shorter.closed_by is ClosedBy.INTERRUPTED


def test_rollouts_without_events_are_told_by_their_words() -> None:
    reading = read("no_events.jsonl")
    assert texts(reading) == ["Just the items", "<b>bold</b> or not?"]
    assert [turn.assistant_texts for turn in reading.turns] == [["Fine."], ["Bold."]]


def test_crooked_lines_are_mended_or_counted() -> None:
    reading = read("crooked.jsonl")
    assert texts(reading) == ["Broken things", "No time"]
    counts = reading.counts
    assert (counts.invalid_lines, counts.concatenated_lines, counts.blank_lines) == (3, 1, 1)
    turn = reading.turns[1]
    assert turn.started_at is None
    assert turn.assistant_texts == ["One", "An item was lost", "half ?"]
    assert turn.session_id.startswith("derived-")


def test_the_ids_that_a_sanitiser_left_are_no_sessions() -> None:
    natives = {turn.native_id for turn in read("crooked.jsonl").turns}
    assert not any("trimmed" in native for native in natives)


def test_the_first_cli_wrote_one_document_and_a_new_one_for_every_step() -> None:
    early, late = document("early.json"), document("session.json")
    assert texts(early) == ["Say hi"]
    assert texts(late) == ["Say hi", "Again"]
    assert early.turns[0].native_id == late.turns[0].native_id
    assert early.turns[0].session_id == late.turns[0].session_id
    assert late.turns[0].tool_calls[0].result == "hi\n"
    assert [(tool.input, tool.is_error) for tool in late.turns[1].tool_calls] == [("rm -r x", True)]
    assert late.turns[0].started_at == datetime(2025, 4, 20, 10, 3, 5, tzinfo=UTC)


def test_a_turn_of_a_document_leads_back_to_its_lines() -> None:
    data = (SMALL / "codex_json" / "session.json").read_bytes()
    turn: RawTurn = CodexDocument().read(data).turns[1]
    assert json.loads(data[turn.first_byte :].split(b"\n    },")[0] + b"}")["role"] == "user"


@pytest.mark.parametrize(
    ("output", "came"),
    [
        ("plain", ("plain", False)),
        (None, ("", False)),
        (
            '{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.1}}',
            ("Exit code 2\nno", True),
        ),
        ('{"answer": 42}', ('{"answer": 42}', False)),
        (
            "Exit code: 1\nWall time: 0.2 seconds\nOutput:\nno such file",
            ("Exit code 1\nno such file", True),
        ),
        ("Exit code: 0\nWall time: 0.2 seconds\nTotal output lines: 9\nOutput:\nok", ("ok", False)),
        ("Wall time: 1.2 seconds\nOutput:\nfound", ("found", False)),
        (
            "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n",
            (
                "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n",
                False,
            ),
        ),
        ("exec command rejected by user", ("exec command rejected by user", True)),
        ({"content": "broken", "success": False}, ("broken", True)),
        (
            [{"type": "input_text", "text": "a"}, {"type": "input_image"}],
            ("a\n[input_image]", False),
        ),
        ({"output": "x", "metadata": {"exit_code": [1]}}, ("x", True)),
        ({"content": {"text": 1}, "success": True}, ('{"text":1}', False)),
        ('{"success":false,"content":"x"}', ('{"success":false,"content":"x"}', False)),
        ([1], ("", False)),
        (7, ("7", False)),
    ],
)
def test_what_came_of_a_call_is_what_it_wrote_and_whether_it_failed(
    output: object, came: tuple[str, bool]
) -> None:
    assert came_of(output) == came


@pytest.mark.parametrize("field", ["output", "arguments", "action", "result", "content", "source"])
@pytest.mark.parametrize("depth", [400, 900, 20_000])
def test_what_nests_too_deep_is_counted_and_does_not_raise(field: str, depth: int) -> None:
    name = {"type": "function_call", "name": "request_user_input", "call_id": "1"}
    for opens, closes in (("[", "]"), ('{"answers":', "}"), ('{"type":"x","output":', "}")):
        deep = opens * depth + "1" + closes * depth
        for given in (deep, json.dumps(deep)):
            rows = (
                ("event_msg", '{"type": "user_message", "message": "x"}'),
                ("response_item", json.dumps(name)),
                (
                    "response_item",
                    f'{{"type":"function_call_output","call_id":"1","{field}":{given}}}',
                ),
                ("event_msg", f'{{"type":"mcp_tool_call_end","call_id":"1","{field}":{given}}}'),
                ("response_item", f'{{"type":"x_call","call_id":"2","{field}":{given}}}'),
                ("session_meta", f'{{"id":"s","{field}":{given}}}'),
            )
            lines = (f'{{"type": "{kind}", "payload": {payload}}}' for kind, payload in rows)
            counts = Codex().read("\n".join(lines).encode()).counts
            assert counts.turns == 1
            assert counts.lines == counts.used + sum(counts.skipped.values())


def test_an_event_of_a_commands_end_completes_the_call() -> None:
    call: dict[str, Any] = {"type": "function_call", "name": "shell", "arguments": "{}"}
    ended = {"type": "exec_command_end", "call_id": "1", "exit_code": 3, "aggregated_output": "no"}
    tool = tool_of(call, ("event_msg", ended))
    assert (tool.result, tool.is_error) == ("no", True)


def test_a_kind_of_call_that_nobody_has_seen_is_a_call() -> None:
    tool = tool_of({"type": "hologram_call", "arguments": {"size": 3}})
    assert (tool.name, tool.input) == ("hologram", '{"size":3}')


@pytest.mark.parametrize(
    "line",
    [
        '{"session_id": "x", "ts": 1772442000, "text": "hi"}',
        '{"type": "thread.started", "thread_id": "x"}',
        '{"id": "0", "msg": {"type": "task_started"}}',
        '{"type": "message", "text": "hi"}',
        '{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}',
        '{"type": "event_msg", "payload": "hi"}',
        '{"type": "event", "payload": {"type": "user_message"}}',
        '{"session": {"id": "x"}, "items": []}',
        '{"session": {"id": "x", "timestamp": "y"}, "items": ["hi"]}',
    ],
)
def test_what_only_looks_like_codex_is_left_alone(line: str) -> None:
    opening = Probe(line.encode())
    assert not Codex().sniff(opening)
    assert not CodexDocument().sniff(opening)


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "x", "timestamp": "2025-08-09T15:19:15Z", "instructions": null}',
        '{"record_type": "state"}',
        '{"timestamp": "", "type": "compacted", "payload": {"message": ""}}',
        '{"timestamp": "", "type": "response_item", "payload": {"type": "ghost_snapshot"}}',
    ],
)
def test_a_slice_of_a_rollout_is_known_too(line: str) -> None:
    known = formats.sniff(line.encode())
    assert known is not None
    assert known.name == "codex"


def said_in(*rows: tuple[str, dict[str, Any]]) -> list[str]:
    (turn,) = rollout(prompt("x"), *rows).turns
    return turn.assistant_texts


def spoken(text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": "agent_message", "message": text}


def written(text: str) -> tuple[str, dict[str, Any]]:
    part = {"type": "output_text", "text": text}
    return "response_item", {"type": "message", "role": "assistant", "content": [part]}


def test_answers_whose_events_come_later_are_said_once() -> None:
    rows = written("One."), written("Two."), spoken("One."), spoken("Two.")
    assert said_in(*rows) == ["One.", "Two."]


def test_an_answer_that_is_told_one_way_only_is_not_lost_beside_another() -> None:
    rows = spoken("No tests ran."), written("It is mended."), spoken("It is mended.")
    assert said_in(*rows) == ["No tests ran.", "It is mended."]


def test_an_answer_that_is_redacted_in_two_ways_is_said_once() -> None:
    rows = spoken("[REDACTED_MESSAGE 17]"), written("[REDACTED_TEXT 17]")
    assert said_in(*rows) == ["[REDACTED_TEXT 17]"]


def test_prompts_from_before_the_envelope_are_turns_though_later_ones_have_events() -> None:
    reading = read("bare_resumed.jsonl")
    assert texts(reading) == ["Count the stock", "Now sort it"]
    assert [turn.assistant_texts for turn in reading.turns] == [["Twelve."], ["Sorted."]]


def test_a_bare_rollout_is_known_by_its_id_and_time_alone() -> None:
    header = b'{"id":"019cadc6-9a80-7abc-8000-000000000009","timestamp":"2025-06-02T09:00:00Z"}\n'
    assert Codex().sniff(Probe(header))


def test_a_prompt_that_only_names_files_is_a_turn() -> None:
    named = "# Files mentioned by the user:\n\n- cart.py\n\n## My request for Codex:\n"
    assert texts(rollout(prompt(named))) == [named.strip()]
