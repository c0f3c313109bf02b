"""Codex rollouts: each sample in tests/archives/codex and codex_json shows one difficulty."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.formats.usage import tokens
from turnetl import formats
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.codex import Codex, CodexDocument
from turnetl.formats.kit.probe import Probe
from turnetl.formats.port import ParsedArchive, RawToolCall, RawTurn

ARCHIVES = Path(__file__).parents[1] / "archives"
PARENT = "019cadc6-9a80-7abc-8000-000000000001"


def read(name: str) -> ParsedArchive:
    return Codex().read((ARCHIVES / "codex" / name).read_bytes())


def document(name: str) -> ParsedArchive:
    return CodexDocument().read((ARCHIVES / "codex_json" / name).read_bytes())


def texts(parsed: ParsedArchive) -> list[str]:
    return [turn.user_text for turn in parsed.turns]


def at(hour: int, minute: int, second: int, millisecond: int = 0) -> datetime:
    return datetime(2026, 3, 2, hour, minute, second, millisecond * 1000, tzinfo=UTC)


def rollout(*payloads: tuple[str, dict[str, Any]]) -> ParsedArchive:
    """Parse rows with these types and payloads."""
    rows = ({"timestamp": "", "type": kind, "payload": payload} for kind, payload in payloads)
    return Codex().read("\n".join(map(json.dumps, rows)).encode())


def prompt(text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": "user_message", "message": text}


def only_call(call: dict[str, Any], *after: tuple[str, dict[str, Any]]) -> RawToolCall:
    (turn,) = rollout(prompt("x"), ("response_item", {"call_id": "1"} | call), *after).turns
    (parsed,) = turn.tool_calls
    return parsed


def result_of(output: object) -> tuple[str, bool]:
    call: dict[str, Any] = {"type": "function_call", "name": "shell", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "1", "output": output}
    parsed = only_call(call, ("response_item", result))
    return parsed.result, parsed.is_error


def test_text_written_as_event_and_item_counts_once() -> None:
    parsed = read("twice.jsonl")
    assert texts(parsed) == ["Why is the total 0?", "Mend it"]
    assert [turn.assistant_texts for turn in parsed.turns] == [
        ["Let me look.", "It returns 0."],
        ["Done."],
    ]


def test_results_of_parallel_calls_match_their_calls() -> None:
    first, second = read("twice.jsonl").turns
    assert [(call.name, call.input, call.result, call.is_error) for call in first.tool_calls] == [
        ("exec_command", "pytest -q", "Exit code 1\n1 failed", True),
        ("shell", "cat cart.py", "def total(): return 0\n", False),
    ]
    assert [call.ended_at for call in first.tool_calls] == [at(9, 0, 15), at(9, 0, 14)]
    assert [call.input for call in second.tool_calls] == ["cart.py :: - return 0 + return total"]


def test_the_usage_of_a_request_reported_twice_counts_once() -> None:
    first, second = read("twice.jsonl").turns
    assert [(one[0], one[3]) for one in tokens(first)] == [(100, 10), (150, 20)]
    assert [(one[0], one[3]) for one in tokens(second)] == [(150, 30)]


def test_a_turn_has_session_prompt_times_model_branch_version_and_folder() -> None:
    first, second = read("twice.jsonl").turns
    assert first.session_id == PARENT
    assert first.prompt_id == first.native_id == "019cadc6-c190-7abc-8000-000000000002"
    assert (first.started_at, first.ended_at) == (at(9, 0, 10, 100), at(9, 0, 20, 200))
    assert (first.model, first.git_branch, first.app_version) == (
        "gpt-5.3-codex",
        "main",
        "0.114.0",
    )
    assert (first.cwd, second.cwd) == ("/home/dev/shop", "/home/dev/shop/src")


def test_the_end_of_a_task_closes_the_last_turn() -> None:
    closed = [turn.closed_by for turn in read("twice.jsonl").turns]
    assert closed == [ClosedBy.NEXT_PROMPT, ClosedBy.SESSION_END]


def test_a_prompt_during_a_task_is_a_turn_and_counts_as_steering() -> None:
    parsed = read("steering.jsonl")
    assert parsed.counts.steering == 1
    assert texts(parsed)[:2] == ["Write the tests", "and skip the slow ones"]
    assert parsed.turns[1].native_id == f"{parsed.turns[0].native_id}:1"


def test_after_a_task_without_an_end_event_the_next_prompt_is_not_steering() -> None:
    started = {"type": "task_started", "turn_id": "1"}
    parsed = rollout(
        ("event_msg", started),
        prompt("one"),
        ("event_msg", started),
        prompt("two"),
        prompt("three"),
    )
    assert parsed.counts.turns == 3
    assert parsed.counts.steering == 1


def test_a_prompt_before_the_start_of_its_task_belongs_to_that_task() -> None:
    started, ended = {"type": "task_started", "turn_id": "1"}, {"type": "task_complete"}
    steered = rollout(prompt("one"), ("event_msg", started), prompt("two"), ("event_msg", ended))
    assert steered.counts.steering == 1


def test_answers_to_the_agents_questions_belong_to_the_turn() -> None:
    parsed = read("steering.jsonl")
    assert parsed.counts.user_answers == 1
    assert parsed.turns[0].user_answers == ["pytest; user_note: no fixtures"]


def test_an_aborted_turn_stays_interrupted_after_the_next_prompt() -> None:
    _, _, deployed, last = read("steering.jsonl").turns
    assert deployed.closed_by is ClosedBy.INTERRUPTED
    assert [(call.result, call.is_error) for call in deployed.tool_calls] == [
        ("aborted by user after 4.0s", True)
    ]
    assert last.closed_by is None


def test_items_without_the_envelope_are_recognised_by_text_and_dated_by_their_session() -> None:
    parsed = read("bare.jsonl")
    assert texts(parsed) == ["[cart] <total> is wrong", "[image]"]
    first = parsed.turns[0]
    assert first.native_id == "0d1e2f3a-1111-4222-8333-444455556666:0"
    assert {turn.started_at for turn in parsed.turns} == {
        datetime(2025, 8, 9, 15, 19, 15, tzinfo=UTC)
    }
    assert (first.git_branch, first.cwd, parsed.cwd) == ("dev", "/home/dev/shop", "/home/dev/shop")
    assert [(call.name, call.input, call.result, call.is_error) for call in first.tool_calls] == [
        ("shell", "pytest -q", "Exit code 1\n1 failed", True),
        ("local_shell", "git status", "clean", False),
    ]


def test_items_without_a_time_are_dated_by_their_server_ids() -> None:
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


def test_a_session_resumed_by_a_newer_one_is_not_a_fork_of_it() -> None:
    old = read("old.jsonl")
    lines = [(ARCHIVES / "codex" / name).read_bytes() for name in ("old.jsonl", "resumed.jsonl")]
    both = Codex().read(b"".join(lines)).turns
    assert [turn.native_id for turn in both[:2]] == [turn.native_id for turn in old.turns]
    assert [turn.parent_session_id for turn in both] == [None] * 4
    assert both[2].session_id == read("resumed.jsonl").turns[0].session_id
    assert both[2].ended_at is not None


def test_a_fork_repeats_its_parents_turns_with_their_ids_and_times() -> None:
    originals, forked = read("twice.jsonl").turns, read("fork.jsonl").turns
    assert [turn.native_id for turn in forked[:2]] == [turn.native_id for turn in originals]
    assert [turn.session_id for turn in forked[:2]] == [PARENT, PARENT]
    assert [turn.started_at for turn in forked[:2]] == [at(9, 0, 10), at(9, 1, 0)]
    assert [(turn.ended_at, turn.tool_calls[0].ended_at) for turn in forked[:2]] == [
        (None, None)
    ] * 2


def test_turns_added_by_a_fork_belong_to_the_fork() -> None:
    own = read("fork.jsonl").turns[2]
    assert own.session_id == "019cae12-e5c0-7abc-8000-000000000008"
    assert (own.ordinal, own.parent_session_id) == (0, PARENT)
    assert (own.started_at, own.ended_at) == (at(10, 23, 25, 100), at(10, 23, 31))


def test_in_a_fork_of_a_fork_each_turn_keeps_its_original_session() -> None:
    lines = (ARCHIVES / "codex" / "fork.jsonl").read_bytes()
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


def test_a_fork_without_turn_ids_is_recognised_by_the_pause_after_the_copies() -> None:
    originals, forked = read("old.jsonl").turns, read("old_fork.jsonl").turns
    assert [turn.native_id for turn in forked[:2]] == [turn.native_id for turn in originals]
    assert [turn.started_at for turn in forked[:2]] == [at(9, 1, 40)] * 2
    third = forked[2]
    assert third.native_id == "bbbbbbbb-1111-4222-8333-444455556666:0"
    assert third.parent_session_id == "aaaaaaaa-1111-4222-8333-444455556666"
    assert third.started_at == at(9, 15, 30)


def test_the_rollout_of_a_subagent_has_rows_and_no_turn() -> None:
    counts = read("subagent.jsonl").counts
    assert (counts.turns, counts.sidechain_rows, counts.tool_calls) == (0, 8, 1)


def test_a_prompt_excludes_the_editors_context() -> None:
    assert texts(read("resumed.jsonl")) == ["Search the web", "[image]"]
    (turn,) = rollout(prompt("# My plan\n\n## My request for Codex:\nread it")).turns
    assert turn.user_text.startswith("# My plan")


def test_every_type_of_call_is_a_tool_call() -> None:
    turn = read("resumed.jsonl").turns[0]
    assert [(call.name, call.input, call.result, call.is_error) for call in turn.tool_calls] == [
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


def test_a_review_with_its_findings_counts_once() -> None:
    review = read("resumed.jsonl").turns[0].assistant_texts
    assert review == ["Found.", "Tax is missing.", "The total ignores tax."]


def test_rows_outside_of_turns_have_reasons() -> None:
    skipped = read("resumed.jsonl").counts.skipped
    assert {
        SkipReason.COMPACTION,
        SkipReason.SHELL_COMMAND,
        SkipReason.REVIEW,
        SkipReason.WARNING,
        SkipReason.INSTRUCTIONS,
    } <= skipped.keys()


def test_the_newest_rollouts_have_items_instead_of_events() -> None:
    parsed = read("items.jsonl")
    plan, shorter = parsed.turns
    assert texts(parsed) == ["Plan it", "shorter"]
    assert (parsed.counts.steering, shorter.native_id) == (1, f"{plan.native_id}:1")
    assert plan.assistant_texts == [
        "Here is a plan.\n\n<proposed_plan>\n1. Tests\n</proposed_plan>"
    ]
    assert tokens(plan) == [(7, None, None, 3, None)]
    assert [(call.result, call.is_error) for call in plan.tool_calls] == [
        ("cart.py\n[input_image]", True)
    ]
    assert shorter.closed_by is ClosedBy.INTERRUPTED


def test_prompts_of_rollouts_without_events_are_recognised_by_their_text() -> None:
    parsed = read("no_events.jsonl")
    assert texts(parsed) == ["Just the items", "<b>bold</b> or not?"]
    assert [turn.assistant_texts for turn in parsed.turns] == [["Fine."], ["Bold."]]


def test_damaged_lines_are_repaired_or_counted() -> None:
    parsed = read("crooked.jsonl")
    assert texts(parsed) == ["Broken things", "No time"]
    counts = parsed.counts
    assert (counts.invalid_lines, counts.concatenated_lines, counts.blank_lines) == (3, 1, 1)
    turn = parsed.turns[1]
    assert turn.started_at is None
    assert turn.assistant_texts == ["One", "An item was lost", "half ?"]
    assert turn.session_id.startswith("derived-")


def test_placeholders_of_a_sanitiser_are_not_session_ids() -> None:
    native_ids = {turn.native_id for turn in read("crooked.jsonl").turns}
    assert not any("trimmed" in native for native in native_ids)


def test_documents_of_the_first_cli_that_repeat_a_session_give_the_same_ids() -> None:
    early, late = document("early.json"), document("session.json")
    assert texts(early) == ["Say hi"]
    assert texts(late) == ["Say hi", "Again"]
    assert early.turns[0].native_id == late.turns[0].native_id
    assert early.turns[0].session_id == late.turns[0].session_id
    assert late.turns[0].tool_calls[0].result == "hi\n"
    assert [(call.input, call.is_error) for call in late.turns[1].tool_calls] == [("rm -r x", True)]
    assert late.turns[0].started_at == datetime(2025, 4, 20, 10, 3, 5, tzinfo=UTC)


def test_a_turn_of_a_document_leads_back_to_its_bytes() -> None:
    data = (ARCHIVES / "codex_json" / "session.json").read_bytes()
    turn: RawTurn = CodexDocument().read(data).turns[1]
    assert json.loads(data[turn.first_byte :].split(b"\n    },")[0] + b"}")["role"] == "user"


def test_a_result_is_the_output_and_whether_the_call_failed(subtests: pytest.Subtests) -> None:
    for output, result in [
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
    ]:
        with subtests.test(output=output):
            assert result_of(output) == result


@pytest.mark.full
@pytest.mark.parametrize("field", ["output", "arguments", "action", "result", "content", "source"])
@pytest.mark.parametrize("depth", [400, 900, 20_000])
def test_too_deeply_nested_values_are_counted_and_do_not_raise(field: str, depth: int) -> None:
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


def test_the_event_at_the_end_of_a_command_completes_the_call() -> None:
    call: dict[str, Any] = {"type": "function_call", "name": "shell", "arguments": "{}"}
    ended = {"type": "exec_command_end", "call_id": "1", "exit_code": 3, "aggregated_output": "no"}
    parsed = only_call(call, ("event_msg", ended))
    assert (parsed.result, parsed.is_error) == ("no", True)


def test_an_unknown_type_of_call_is_a_tool_call() -> None:
    parsed = only_call({"type": "hologram_call", "arguments": {"size": 3}})
    assert (parsed.name, parsed.input) == ("hologram", '{"size":3}')


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
def test_similar_formats_are_not_recognised_as_codex(line: str) -> None:
    probe = Probe(line.encode())
    assert not Codex().sniff(probe)
    assert not CodexDocument().sniff(probe)


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "x", "timestamp": "2025-08-09T15:19:15Z", "instructions": null}',
        '{"record_type": "state"}',
        '{"timestamp": "", "type": "compacted", "payload": {"message": ""}}',
        '{"timestamp": "", "type": "response_item", "payload": {"type": "ghost_snapshot"}}',
    ],
)
def test_a_single_row_of_a_rollout_is_recognised(line: str) -> None:
    assert formats.sniff(line.encode()) is formats.by_name("codex")


def assistant_texts(*rows: tuple[str, dict[str, Any]]) -> list[str]:
    (turn,) = rollout(prompt("x"), *rows).turns
    return turn.assistant_texts


def event(text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": "agent_message", "message": text}


def item(text: str) -> tuple[str, dict[str, Any]]:
    part = {"type": "output_text", "text": text}
    return "response_item", {"type": "message", "role": "assistant", "content": [part]}


def test_texts_whose_events_follow_later_count_once() -> None:
    rows = item("One."), item("Two."), event("One."), event("Two.")
    assert assistant_texts(*rows) == ["One.", "Two."]


def test_a_text_with_only_one_source_is_kept_beside_another() -> None:
    rows = event("No tests ran."), item("It is mended."), event("It is mended.")
    assert assistant_texts(*rows) == ["No tests ran.", "It is mended."]


def test_a_text_redacted_in_two_ways_counts_once() -> None:
    rows = event("[REDACTED_MESSAGE 17]"), item("[REDACTED_TEXT 17]")
    assert assistant_texts(*rows) == ["[REDACTED_TEXT 17]"]


def test_prompts_without_the_envelope_are_turns_although_later_ones_have_events() -> None:
    parsed = read("bare_resumed.jsonl")
    assert texts(parsed) == ["Count the stock", "Now sort it"]
    assert [turn.assistant_texts for turn in parsed.turns] == [["Twelve."], ["Sorted."]]


def test_a_rollout_without_the_envelope_is_recognised_by_id_and_time_alone() -> None:
    header = b'{"id":"019cadc6-9a80-7abc-8000-000000000009","timestamp":"2025-06-02T09:00:00Z"}\n'
    assert Codex().sniff(Probe(header))


def test_a_prompt_of_only_file_names_is_a_turn() -> None:
    text = "# Files mentioned by the user:\n\n- cart.py\n\n## My request for Codex:\n"
    assert texts(rollout(prompt(text))) == [text.strip()]
