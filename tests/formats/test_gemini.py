"""Gemini CLI archives: each sample in tests/archives/gemini_* shows one difficulty."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.fake_gemini_cli import FakeGeminiCli
from tests.formats.usage import tokens
from turnetl import formats
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.gemini import GeminiJson, GeminiJsonl
from turnetl.formats.port import ParsedArchive, RawTurn

ARCHIVES = Path(__file__).parents[1] / "archives"
SESSION = "11112222-3333-4444-8555-666677770001"
SNAPSHOT = "<state_snapshot>\n<overall_goal>Tasks</overall_goal>\n</state_snapshot>"
ACKNOWLEDGED = "Got it. Thanks for the additional context!"

ACTIONS: dict[str, Callable[[FakeGeminiCli], None]] = {
    "prompt": lambda cli: cli.turn("go on"),
    "another prompt": lambda cli: cli.turn("mend it"),
    "abort": lambda cli: cli.abort("go on"),
    "compress": FakeGeminiCli.compress,
    "load": FakeGeminiCli.load,
    "mask": FakeGeminiCli.mask,
    "rewind": FakeGeminiCli.rewind,
    "save": FakeGeminiCli.save,
}


def bytes_of(name: str) -> bytes:
    (path,) = ARCHIVES.glob(f"gemini_*/{name}")
    return path.read_bytes()


def read(name: str) -> ParsedArchive:
    format_ = formats.sniff(bytes_of(name))
    assert format_ is not None
    return format_.read(bytes_of(name))


def only(parsed: ParsedArchive) -> RawTurn:
    (turn,) = parsed.turns
    return turn


def prompts(parsed: ParsedArchive) -> list[str]:
    return [turn.user_text for turn in parsed.turns]


def calls(turn: RawTurn) -> list[tuple[str, str, str, bool]]:
    return [(call.name, call.input, call.result, call.is_error) for call in turn.tool_calls]


def lines(*rows: dict[str, Any]) -> ParsedArchive:
    """Parse the rows of one session after its header."""
    header = {"sessionId": SESSION, "projectHash": "5f2b", "kind": "main"}
    return GeminiJsonl().read(b"\n".join(json.dumps(row).encode() for row in (header, *rows)))


def user(id_: str, *texts: str, **fields: Any) -> dict[str, Any]:
    content = [{"text": text} for text in texts]
    return {"id": id_, "timestamp": "2026-03-02T09:00:00Z", "type": "user", "content": content} | (
        fields
    )


def model(id_: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "type": "gemini", "content": text} | fields


def test_results_are_read_from_the_message_with_the_call() -> None:
    first, second = read("session.json").turns
    assert calls(first) == [
        ("run_shell_command", "pytest -q", "Output: 1 failed\nExit Code: 1", False),
        ("read_file", "src/cart.py", "def cart(): ...", False),
        (
            "replace",
            "src/cart.py :: - return None + return cart",
            "Could not find the string to replace.",
            True,
        ),
    ]
    assert [call.ended_at for call in first.tool_calls] == [
        datetime(2026, 3, 2, 9, 0, second, tzinfo=UTC) for second in (9, 7, 8)
    ]
    assert calls(second) == [
        ("write_file", "src/cart.py :: + def cart(): return []", "+def cart(): return []", False)
    ]


def test_the_clients_request_to_continue_is_not_a_prompt_and_continues_the_turn() -> None:
    parsed = read("session.json")
    assert prompts(parsed) == ["Why does the checkout test fail?", "Mend it."]
    assert parsed.turns[0].assistant_texts == ["Let me look at it.", "The cart was empty."]
    assert parsed.counts.skipped[SkipReason.AUTO_PROMPT] == 6


def test_reasoning_is_omitted_beside_texts_and_among_them() -> None:
    assert read("session.json").turns[1].assistant_texts == ["Done."]


def test_usage_counts_once_per_message_and_the_turn_has_the_last_model() -> None:
    first, second = read("session.json").turns
    assert tokens(first) == [(1200, None, 0, 47, 7), (1300, None, 0, 19, 7)]
    assert tokens(second) == [(1400, None, 0, 16, 7)]
    assert first.model == "gemini-2.5-flash"


def test_a_turn_of_a_document_has_its_times_and_its_lines() -> None:
    first = read("session.json").turns[0]
    text = bytes_of("session.json")
    assert first.started_at == datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    assert first.ended_at == datetime(2026, 3, 2, 9, 0, 20, tzinfo=UTC)
    assert (first.first_line, first.last_line) == (7, 121)
    assert text[first.first_byte : first.last_byte].startswith(b'{\n      "id": "00000001-')


def test_snapshots_of_one_session_give_the_same_ids() -> None:
    early, late = read("snapshot.json"), read("session.json")
    assert [turn.native_id for turn in early.turns] == [turn.native_id for turn in late.turns[:1]]
    assert only(early).session_id == late.turns[0].session_id


def test_ids_that_other_sessions_may_have_are_qualified_by_the_session() -> None:
    assert [turn.native_id for turn in read("short_ids.json").turns] == [
        "session-1/m1",
        "session-1/m3",
    ]


def test_a_document_on_one_line_is_read() -> None:
    turn = only(read("compact.json"))
    assert turn.user_text == "One line, one session: Größe?"
    assert turn.assistant_texts == ["Yes."]


def test_an_invalid_time_is_none() -> None:
    assert read("short_ids.json").turns[1].started_at is None


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_document_is_recognised_and_gives_the_turns_before_the_truncation(
    share: float,
) -> None:
    data = bytes_of("session.json")
    truncated = data[: int(len(data) * share)]
    format_ = formats.sniff(truncated)
    assert format_ is not None
    assert format_.name == "gemini_json"
    all_turns = format_.read(data).turns
    turns = format_.read(truncated).turns
    assert [turn.native_id for turn in turns] == [
        turn.native_id for turn in all_turns[: len(turns)]
    ]
    assert turns or share < 0.2


def test_a_prompt_excludes_the_clients_context() -> None:
    assert prompts(read("prompts.json")) == [
        "Explain @src/cart.py",
        "And now the tests",
        "/review src/cart.py",
        "[image]",
        "Use @src/a.py please",
        "/home/dev/shop/notes.md is gone, why?",
    ]


def test_client_text_under_role_user_is_skipped_for_its_reason() -> None:
    skipped = read("prompts.json").counts.skipped
    assert {
        reason: skipped[reason] // 6 for reason in skipped if reason != SkipReason.ENVELOPE
    } == {
        SkipReason.CONTEXT: 2,
        SkipReason.PREAMBLE: 1,
        SkipReason.SHELL_COMMAND: 1,
        SkipReason.LOCAL_COMMAND: 3,
        SkipReason.TOOL_RESULT: 1,
        SkipReason.COMPACTION: 1,
        SkipReason.AUTO_PROMPT: 1,
    }


def test_a_slash_command_is_a_turn_only_if_the_model_answers_it() -> None:
    parsed = read("prompts.json")
    assert parsed.turns[2].assistant_texts == ["Reviewed."]
    assert "/stats" not in prompts(parsed)


def test_a_command_that_only_the_client_executes_is_not_a_turn() -> None:
    parsed = lines(
        user("u1", "Draw."),
        model("g1", "Drawn.", model="m"),
        user("u2", "/compress"),
        user("u3", SNAPSHOT),
        model("g2", ACKNOWLEDGED),
        user("u4", "/quit"),
    )
    assert prompts(parsed) == ["Draw."]
    assert parsed.counts.skipped[SkipReason.LOCAL_COMMAND] == 2


def test_text_before_a_cancelled_call_leaves_the_turn_interrupted() -> None:
    cancelled = {"id": "c1", "name": "run_shell_command", "args": {}, "status": "cancelled"}
    answer = model("g1", "I will clean up.", model="m", toolCalls=[cancelled])
    turn = only(lines(user("u1", "Clean up."), answer))
    assert turn.assistant_texts == ["I will clean up."]
    assert turn.closed_by is ClosedBy.INTERRUPTED


def test_an_exit_command_closes_the_last_turn() -> None:
    assert read("prompts.json").turns[-1].closed_by is ClosedBy.SESSION_END


def test_the_clients_description_of_the_workspace_names_the_folder() -> None:
    parsed = read("prompts.json")
    assert parsed.cwd == "/home/dev/shop"
    assert {turn.cwd for turn in parsed.turns} == {"/home/dev/shop"}


def test_a_hash_of_the_folder_is_not_a_folder() -> None:
    assert read("session.json").cwd is None


def test_text_after_referenced_files_belongs_to_the_prompt() -> None:
    content = (
        "Compare @a.py\n--- Content from referenced files ---\nContent from @a.py:\na = 1"
        "\n--- End of content ---\nwith the one of yesterday"
    )
    parsed = lines(user("u1", content), model("g1", "Same.", model="m"))
    assert only(parsed).user_text == "Compare @a.py\n\nwith the one of yesterday"


def test_answers_and_the_text_of_a_rejection_are_kept() -> None:
    parsed = read("answers.json")
    assert only(parsed).user_answers == [
        '"Which store?"="Redis", "Why?"="it is there already"',
        "smaller steps, please",
    ]
    assert parsed.counts.user_answers == 2


def test_the_prompt_given_to_a_subagent_is_kept() -> None:
    assert only(read("answers.json")).subagent_prompts == ["Find every use of the store."]


def test_interrupted_turns_are_kept_as_interrupted() -> None:
    parsed = read("interrupted.json")
    assert [(turn.user_text, turn.closed_by) for turn in parsed.turns] == [
        ("Count the files.", ClosedBy.INTERRUPTED),
        ("Try again.", ClosedBy.INTERRUPTED),
        ("And again.", ClosedBy.NEXT_PROMPT),
        ("Last one.", ClosedBy.INTERRUPTED),
    ]
    assert parsed.turns[0].tool_calls[0].is_error
    assert parsed.turns[2].assistant_texts == ["Still here."]


def test_notices_and_unknown_types_give_no_turn() -> None:
    skipped = read("interrupted.json").counts.skipped
    assert (skipped[SkipReason.INFO], skipped[SkipReason.ERROR], skipped[SkipReason.OTHER]) == (
        6,
        6,
        6,
    )
    assert read("warning.json").counts.skipped[SkipReason.WARNING] == 6


@pytest.mark.parametrize("name", ["subagent.json", "subagent.jsonl"])
def test_the_session_of_a_subagent_has_rows_and_no_turn(name: str) -> None:
    parsed = read(name)
    assert parsed.turns == []
    assert (parsed.counts.sidechain_rows, parsed.counts.tool_calls) == (2, 1)
    assert parsed.cwd == "/home/dev/shop"


def test_the_last_version_of_a_message_counts_in_the_position_of_the_first() -> None:
    parsed = read("rewritten.jsonl")
    first, second = parsed.turns
    assert first.assistant_texts == ["Let me look.", "One file."]
    assert tokens(first) == [(900, None, 0, 27, 7), (950, None, 0, 13, 7)]
    assert calls(first) == [("list_directory", '{"dir_path":"."}', "README.md", False)]
    assert (first.first_line, first.last_line, second.first_line) == (3, 10, 11)
    assert parsed.counts.skipped[SkipReason.SUPERSEDED] == 2
    assert parsed.counts.tool_calls == 1


def test_a_result_only_in_the_clients_message_matches_its_call() -> None:
    call = read("steering.jsonl").turns[0].tool_calls[0]
    assert call.result == "done"
    assert call.ended_at == datetime(2026, 3, 2, 9, 0, 9, tzinfo=UTC)


def test_compression_neither_repeats_nor_loses_a_turn() -> None:
    parsed = read("compressed.jsonl")
    assert [(turn.user_text, turn.assistant_texts) for turn in parsed.turns] == [
        ("First task", ["First answer."]),
        ("Second task", ["Second answer."]),
        ("Third task", ["Third answer."]),
    ]
    assert parsed.counts.tool_calls == 1


def test_a_history_rewritten_under_new_ids_repeats_no_turn() -> None:
    parsed = read("masked.jsonl")
    assert [(turn.user_text, turn.assistant_texts) for turn in parsed.turns] == [
        ("continue", ["Step one.", "Read."]),
        ("continue", ["Step two."]),
        ("continue", ["Step three."]),
    ]
    assert parsed.turns[0].tool_calls[0].result == "a = 1"
    assert parsed.counts.skipped[SkipReason.COPY] == 4


def test_a_history_rewritten_message_by_message_repeats_no_turn() -> None:
    parsed = lines(
        user("u1", "continue"),
        model("g1", "One.", model="m"),
        user("u2", "continue"),
        user("c1", "continue"),
        model("c2", "One."),
        user("c3", "continue"),
        {"$set": {"messages": [user("c1", "continue"), model("c2", "One."), user("c3", "go")]}},
        user("u3", "continue"),
        model("g3", "Three.", model="m"),
    )
    assert [(turn.native_id, turn.assistant_texts) for turn in parsed.turns] == [
        (f"{SESSION}/u1", ["One."]),
        (f"{SESSION}/u2", []),
        (f"{SESSION}/u3", ["Three."]),
    ]


def test_a_repeated_prompt_is_a_turn_although_the_history_is_shortened() -> None:
    parsed = lines(
        user("u1", "continue"),
        model("g1", "One.", model="m"),
        user("u2", "continue"),
        model("g2", "Two.", model="m"),
        {"$patch": {"removeIds": ["u1", "g1"]}},
    )
    assert [turn.assistant_texts for turn in parsed.turns] == [["One."], ["Two."]]


def test_messages_only_in_a_rewritten_history_are_turns() -> None:
    parsed = lines(
        {"$set": {"messages": [user("u1", "Draw."), model("g1", "Drawn.")]}},
        {"$set": {"messages": [user("u1", "Draw."), model("g1", "Drawn."), user("u2", "More.")]}},
    )
    assert [(turn.user_text, turn.assistant_texts) for turn in parsed.turns] == [
        ("Draw.", ["Drawn."]),
        ("More.", []),
    ]


@pytest.mark.parametrize("patches", [False, True])
@pytest.mark.parametrize("merges", [False, True])
@given(actions=st.lists(st.sampled_from(sorted(ACTIONS)), max_size=12))
def test_each_prompt_is_one_turn_with_its_response_for_any_history(
    actions: list[str], *, patches: bool, merges: bool
) -> None:
    cli = FakeGeminiCli(patches=patches, merges=merges)
    for action in actions:
        ACTIONS[action](cli)
    turns = GeminiJsonl().read(cli.data()).turns
    assert [(turn.user_text, turn.native_id) for turn in turns] == cli.prompts
    assert [turn.assistant_texts for turn in turns] == cli.answers


def test_rewound_turns_are_kept() -> None:
    parsed = read("rewound.jsonl")
    assert [(turn.user_text, turn.closed_by) for turn in parsed.turns] == [
        ("Draw a cart.", ClosedBy.NEXT_PROMPT),
        ("Draw a till.", ClosedBy.INTERRUPTED),
        ("Draw a till.", ClosedBy.NEXT_PROMPT),
        ("Draw nothing.", None),
    ]
    assert parsed.counts.skipped[SkipReason.REWIND] == 2
    assert parsed.cwd == "/home/dev/shop"


def test_a_hint_with_a_result_is_steering_and_a_hint_alone_is_a_prompt() -> None:
    parsed = read("steering.jsonl")
    assert [(turn.user_text, turn.steering) for turn in parsed.turns] == [
        ("Rename the module.", ["use git mv please"]),
        ("and the tests too", []),
        ("/review --strict", []),
    ]
    assert parsed.counts.steering == 1


def test_a_prompt_has_its_displayed_text_and_a_client_text_that_repeats_it_is_not_a_turn() -> None:
    turn = read("steering.jsonl").turns[2]
    assert turn.user_text == "/review --strict"
    assert turn.assistant_texts == ["Fine.", "Still fine."]


def test_damaged_lines_are_repaired_and_counted() -> None:
    parsed = read("crooked.jsonl")
    counts = parsed.counts
    assert prompts(parsed) == ["Glued?", "Numbers as text", "No id, no time"]
    assert (counts.invalid_lines, counts.concatenated_lines, counts.blank_lines) == (2, 1, 1)
    assert tokens(parsed.turns[1]) == [(12, None, None, 3, None)]
    assert counts.skipped[SkipReason.PREAMBLE] == 1
    assert counts.tool_calls == 1


def test_a_header_with_an_invalid_key_is_read() -> None:
    data = bytes_of("snapshot.json").replace(b'"projectHash"', b'"\\ud800"')
    assert len(GeminiJson().read(data).turns) == 1


def test_the_path_argument_of_older_releases_is_the_input() -> None:
    calls = [{"id": "c1", "name": "read_file", "args": {"absolute_path": "/home/dev/a.py"}}]
    turn = only(lines(user("u1", "Read it."), model("g1", "", model="m", toolCalls=calls)))
    assert [call.input for call in turn.tool_calls] == ["/home/dev/a.py"]


def test_several_sessions_in_one_archive_keep_their_folders_and_ordinals() -> None:
    other = {"sessionId": "another", "projectHash": "77", "directories": ["/home/dev/lib"]}
    parsed = lines(user("u1", "First."), other, user("u1", "Second."))
    assert [(turn.session_id, turn.ordinal, turn.cwd) for turn in parsed.turns] == [
        (SESSION, 0, None),
        ("another", 0, "/home/dev/lib"),
    ]


def test_a_header_alone_is_recognised_and_has_no_turn() -> None:
    header = (
        b'{"sessionId":"s","projectHash":"h","startTime":"2026-03-02T09:00:00Z","kind":"main"}\n'
    )
    format_ = formats.sniff(header)
    assert format_ is not None
    assert format_.name.startswith("gemini_json")
    assert format_.read(header).counts.skipped.total() == 1


def test_fragments_of_a_text_are_joined_until_another_event() -> None:
    assert only(read("run.jsonl")).assistant_texts == [
        "I will look first.",
        "Two tests fail",
        "Done.",
    ]


def test_results_of_parallel_calls_match_by_id_and_may_be_missing() -> None:
    parsed = read("run.jsonl")
    assert calls(only(parsed)) == [
        ("list_directory", '{"dir_path":"."}', "", False),
        ("run_shell_command", "npm test", "2 failed", True),
        ("write_file", "a.html :: + <p>", "Tool execution denied by policy.", True),
    ]
    assert parsed.counts.tool_calls == 3


def test_a_result_event_closes_the_turn_and_has_the_usage_of_the_run() -> None:
    turn = only(read("run.jsonl"))
    assert turn.closed_by is ClosedBy.SESSION_END
    assert tokens(turn) == [(5000, None, 0, 120, None)]
    assert turn.model == "auto-gemini-3"
    assert turn.started_at == datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC)
    assert turn.ended_at == datetime(2026, 3, 2, 9, 1, 9, tzinfo=UTC)


def test_other_output_of_the_client_is_counted_as_invalid() -> None:
    counts = read("run.jsonl").counts
    assert (
        counts.invalid_lines,
        counts.skipped[SkipReason.INVALID_JSON],
        counts.first_invalid_line,
    ) == (1, 1, 1)


def test_each_run_has_its_session_and_a_run_without_a_result_is_interrupted() -> None:
    parsed = read("runs.jsonl")
    assert [(turn.user_text, turn.ordinal, turn.closed_by) for turn in parsed.turns] == [
        ("First run", 0, ClosedBy.SESSION_END),
        ("Second run, which crashes", 0, ClosedBy.INTERRUPTED),
        ("First run again", 1, ClosedBy.INTERRUPTED),
        ("Two prompts", 0, ClosedBy.NEXT_PROMPT),
        ("in one run", 1, None),
    ]


def test_a_session_resumed_in_another_run_has_other_turn_ids() -> None:
    rows = bytes_of("runs.jsonl").splitlines(keepends=True)
    format_ = formats.sniff(b"".join(rows))
    assert format_ is not None
    resumed = format_.read(b"".join(rows[7:11]))
    assert only(resumed).native_id == format_.read(b"".join(rows)).turns[2].native_id
    assert only(resumed).native_id != format_.read(b"".join(rows[:4])).turns[0].native_id


def test_events_before_the_first_prompt_belong_to_no_turn() -> None:
    parsed = read("slice.jsonl")
    assert only(parsed).assistant_texts == ["Nothing."]
    assert parsed.counts.skipped == {SkipReason.PREAMBLE: 3, SkipReason.OTHER: 1}
    assert parsed.counts.tool_calls == 1


@pytest.mark.parametrize("text", [SNAPSHOT, "<hook_context>x</hook_context>"])
def test_client_text_is_not_a_prompt_in_lines(text: str) -> None:
    assert lines(user("u1", text), model("g1", ACKNOWLEDGED)).turns == []
