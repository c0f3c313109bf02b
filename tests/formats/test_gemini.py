"""Gemini CLI's archives: one small file a trouble, in tests/archives/gemini_*."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.gemini_client import Client
from turnetl import formats
from turnetl.formats.base import ParsedArchive, RawTurn
from turnetl.formats.gemini import GeminiJson, GeminiJsonl
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

SMALL = Path(__file__).parents[1] / "archives"
SESSION = "11112222-3333-4444-8555-666677770001"
SNAPSHOT = "<state_snapshot>\n<overall_goal>Tasks</overall_goal>\n</state_snapshot>"
ACKNOWLEDGED = "Got it. Thanks for the additional context!"

DEEDS: dict[str, Callable[[Client], None]] = {
    "prompt": lambda client: client.turn("go on"),
    "another prompt": lambda client: client.turn("mend it"),
    "abort": lambda client: client.abort("go on"),
    "compress": Client.compress,
    "load": Client.load,
    "mask": Client.mask,
    "rewind": Client.rewind,
    "save": Client.save,
}


def bytes_of(name: str) -> bytes:
    (path,) = SMALL.glob(f"gemini_*/{name}")
    return path.read_bytes()


def read(name: str) -> ParsedArchive:
    known = formats.sniff(bytes_of(name))
    assert known is not None
    return known.read(bytes_of(name))


def only(reading: ParsedArchive) -> RawTurn:
    (turn,) = reading.turns
    return turn


def prompts(reading: ParsedArchive) -> list[str]:
    return [turn.user_text for turn in reading.turns]


def outcomes(turn: RawTurn) -> list[tuple[str, str, str, bool]]:
    return [(tool.name, tool.input, tool.result, tool.is_error) for tool in turn.tool_calls]


def lines(*rows: dict[str, Any]) -> ParsedArchive:
    """Read the rows of one session behind its head."""
    head = {"sessionId": SESSION, "projectHash": "5f2b", "kind": "main"}
    return GeminiJsonl().read(b"\n".join(json.dumps(row).encode() for row in (head, *rows)))


def user(id_: str, *texts: str, **fields: Any) -> dict[str, Any]:
    content = [{"text": text} for text in texts]
    return {"id": id_, "timestamp": "2026-03-02T09:00:00Z", "type": "user", "content": content} | (
        fields
    )


def spoken(id_: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "type": "gemini", "content": text} | fields


def test_outcomes_are_found_inside_the_message_that_called() -> None:
    first, second = read("session.json").turns
    assert outcomes(first) == [
        ("run_shell_command", "pytest -q", "Output: 1 failed\nExit Code: 1", False),
        ("read_file", "src/cart.py", "def cart(): ...", False),
        (
            "replace",
            "src/cart.py :: - return None + return cart",
            "Could not find the string to replace.",
            True,
        ),
    ]
    assert [tool.ended_at for tool in first.tool_calls] == [
        datetime(2026, 3, 2, 9, 0, second, tzinfo=UTC) for second in (9, 7, 8)
    ]
    assert outcomes(second) == [
        ("write_file", "src/cart.py :: + def cart(): return []", "+def cart(): return []", False)
    ]


def test_the_nudge_to_go_on_is_no_prompt_and_what_follows_belongs_to_the_turn_before() -> None:
    reading = read("session.json")
    assert prompts(reading) == ["Why does the checkout test fail?", "Mend it."]
    assert reading.turns[0].assistant_texts == ["Let me look at it.", "The cart was empty."]
    assert reading.counts.skipped[SkipReason.AUTO_PROMPT] == 6


def test_thoughts_are_not_kept_whether_beside_the_words_or_among_them() -> None:
    assert read("session.json").turns[1].assistant_texts == ["Done."]


def test_tokens_count_once_a_message_and_the_last_model_is_the_turns() -> None:
    first, second = read("session.json").turns
    assert list(first.usage.values()) == [(1200, 40), (1300, 12)]
    assert list(second.usage.values()) == [(1400, 9)]
    assert first.model == "gemini-2.5-flash"


def test_a_turn_of_a_document_knows_its_times_and_its_lines() -> None:
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


def test_ids_that_other_sessions_have_too_are_told_apart_by_the_session() -> None:
    assert [turn.native_id for turn in read("short_ids.json").turns] == [
        "session-1/m1",
        "session-1/m3",
    ]


def test_a_document_on_one_line_is_read() -> None:
    turn = only(read("compact.json"))
    assert turn.user_text == "One line, one session: Größe?"
    assert turn.assistant_texts == ["Yes."]


def test_a_text_that_is_no_time_is_none() -> None:
    assert read("short_ids.json").turns[1].started_at is None


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9, 0.99])
def test_a_document_cut_off_is_still_known_and_gives_what_stands_before_the_cut(
    share: float,
) -> None:
    data = bytes_of("session.json")
    torn = data[: int(len(data) * share)]
    known = formats.sniff(torn)
    assert isinstance(known, GeminiJson)
    whole = known.read(data).turns
    turns = known.read(torn).turns
    assert [turn.native_id for turn in turns] == [turn.native_id for turn in whole[: len(turns)]]
    assert turns or share < 0.2


def test_what_the_client_puts_around_the_words_is_not_part_of_the_prompt() -> None:
    assert prompts(read("prompts.json")) == [
        "Explain @src/cart.py",
        "And now the tests",
        "/review src/cart.py",
        "[image]",
        "Use @src/a.py please",
        "/home/dev/shop/notes.md is gone, why?",
    ]


def test_what_a_machine_wrote_under_role_user_is_skipped_for_its_reason() -> None:
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


def test_a_slash_command_that_the_model_answers_is_a_turn_and_any_other_is_not() -> None:
    reading = read("prompts.json")
    assert reading.turns[2].assistant_texts == ["Reviewed."]
    assert "/stats" not in prompts(reading)


def test_a_command_that_only_the_client_answers_is_no_turn() -> None:
    reading = lines(
        user("u1", "Draw."),
        spoken("g1", "Drawn.", model="m"),
        user("u2", "/compress"),
        user("u3", SNAPSHOT),
        spoken("g2", ACKNOWLEDGED),
        user("u4", "/quit"),
    )
    assert prompts(reading) == ["Draw."]
    assert reading.counts.skipped[SkipReason.LOCAL_COMMAND] == 2


def test_words_before_a_call_that_was_refused_leave_the_turn_broken_off() -> None:
    refused = {"id": "c1", "name": "run_shell_command", "args": {}, "status": "cancelled"}
    answer = spoken("g1", "I will clean up.", model="m", toolCalls=[refused])
    turn = only(lines(user("u1", "Clean up."), answer))
    assert turn.assistant_texts == ["I will clean up."]
    assert turn.closed_by is ClosedBy.INTERRUPTED


def test_leaving_ends_the_last_turn() -> None:
    assert read("prompts.json").turns[-1].closed_by is ClosedBy.SESSION_END


def test_the_clients_account_of_the_workspace_names_the_folder() -> None:
    reading = read("prompts.json")
    assert reading.cwd == "/home/dev/shop"
    assert {turn.cwd for turn in reading.turns} == {"/home/dev/shop"}


def test_a_hash_of_the_folder_names_no_folder() -> None:
    assert read("session.json").cwd is None


def test_words_behind_the_files_that_a_prompt_refers_to_are_the_persons() -> None:
    content = (
        "Compare @a.py\n--- Content from referenced files ---\nContent from @a.py:\na = 1"
        "\n--- End of content ---\nwith the one of yesterday"
    )
    reading = lines(user("u1", content), spoken("g1", "Same.", model="m"))
    assert only(reading).user_text == "Compare @a.py\n\nwith the one of yesterday"


def test_what_a_person_answers_and_says_with_a_rejection_is_kept() -> None:
    reading = read("answers.json")
    assert only(reading).user_answers == [
        '"Which store?"="Redis", "Why?"="it is there already"',
        "smaller steps, please",
    ]
    assert reading.counts.user_answers == 2


def test_the_prompt_given_to_a_subagent_is_kept() -> None:
    assert only(read("answers.json")).subagent_prompts == ["Find every use of the store."]


def test_turns_that_broke_off_are_kept_and_say_so() -> None:
    reading = read("interrupted.json")
    assert [(turn.user_text, turn.closed_by) for turn in reading.turns] == [
        ("Count the files.", ClosedBy.INTERRUPTED),
        ("Try again.", ClosedBy.INTERRUPTED),
        ("And again.", ClosedBy.NEXT_PROMPT),
        ("Last one.", ClosedBy.INTERRUPTED),
    ]
    assert reading.turns[0].tool_calls[0].is_error
    assert reading.turns[2].assistant_texts == ["Still here."]


def test_notices_and_kinds_of_later_releases_give_no_turn() -> None:
    skipped = read("interrupted.json").counts.skipped
    assert (skipped[SkipReason.INFO], skipped[SkipReason.ERROR], skipped[SkipReason.OTHER]) == (
        6,
        6,
        6,
    )
    assert read("warning.json").counts.skipped[SkipReason.WARNING] == 6


@pytest.mark.parametrize("name", ["subagent.json", "subagent.jsonl"])
def test_a_subagents_own_session_has_rows_and_no_turn(name: str) -> None:
    reading = read(name)
    assert reading.turns == []
    assert (reading.counts.sidechain_rows, reading.counts.tool_calls) == (2, 1)
    assert reading.cwd == "/home/dev/shop"


def test_the_last_writing_of_a_message_counts_in_the_place_of_the_first() -> None:
    reading = read("rewritten.jsonl")
    first, second = reading.turns
    assert first.assistant_texts == ["Let me look.", "One file."]
    assert list(first.usage.values()) == [(900, 20), (950, 6)]
    assert outcomes(first) == [("list_directory", '{"dir_path":"."}', "README.md", False)]
    assert (first.first_line, first.last_line, second.first_line) == (3, 10, 11)
    assert reading.counts.skipped[SkipReason.SUPERSEDED] == 2
    assert reading.counts.tool_calls == 1


def test_an_outcome_that_only_the_clients_message_carries_finds_its_call() -> None:
    tool = read("steering.jsonl").turns[0].tool_calls[0]
    assert tool.result == "done"
    assert tool.ended_at == datetime(2026, 3, 2, 9, 0, 9, tzinfo=UTC)


def test_compression_neither_repeats_nor_loses_a_turn() -> None:
    reading = read("compressed.jsonl")
    assert [(turn.user_text, turn.assistant_texts) for turn in reading.turns] == [
        ("First task", ["First answer."]),
        ("Second task", ["Second answer."]),
        ("Third task", ["Third answer."]),
    ]
    assert reading.counts.tool_calls == 1


def test_a_history_written_anew_under_other_ids_gives_no_turn_twice() -> None:
    reading = read("masked.jsonl")
    assert [(turn.user_text, turn.assistant_texts) for turn in reading.turns] == [
        ("continue", ["Step one.", "Read."]),
        ("continue", ["Step two."]),
        ("continue", ["Step three."]),
    ]
    assert reading.turns[0].tool_calls[0].result == "a = 1"
    assert reading.counts.skipped[SkipReason.COPY] == 4


def test_a_history_written_anew_message_by_message_gives_no_turn_twice() -> None:
    reading = lines(
        user("u1", "continue"),
        spoken("g1", "One.", model="m"),
        user("u2", "continue"),
        user("c1", "continue"),
        spoken("c2", "One."),
        user("c3", "continue"),
        {"$set": {"messages": [user("c1", "continue"), spoken("c2", "One."), user("c3", "go")]}},
        user("u3", "continue"),
        spoken("g3", "Three.", model="m"),
    )
    assert [(turn.native_id, turn.assistant_texts) for turn in reading.turns] == [
        (f"{SESSION}/u1", ["One."]),
        (f"{SESSION}/u2", []),
        (f"{SESSION}/u3", ["Three."]),
    ]


def test_a_prompt_typed_again_is_a_turn_again_though_the_history_is_shortened() -> None:
    reading = lines(
        user("u1", "continue"),
        spoken("g1", "One.", model="m"),
        user("u2", "continue"),
        spoken("g2", "Two.", model="m"),
        {"$patch": {"removeIds": ["u1", "g1"]}},
    )
    assert [turn.assistant_texts for turn in reading.turns] == [["One."], ["Two."]]


def test_messages_that_only_a_rewritten_history_holds_are_turns() -> None:
    reading = lines(
        {"$set": {"messages": [user("u1", "Draw."), spoken("g1", "Drawn.")]}},
        {"$set": {"messages": [user("u1", "Draw."), spoken("g1", "Drawn."), user("u2", "More.")]}},
    )
    assert [(turn.user_text, turn.assistant_texts) for turn in reading.turns] == [
        ("Draw.", ["Drawn."]),
        ("More.", []),
    ]


@pytest.mark.parametrize("patches", [False, True])
@pytest.mark.parametrize("merges", [False, True])
@given(deeds=st.lists(st.sampled_from(sorted(DEEDS)), max_size=12))
def test_whatever_becomes_of_the_history_each_prompt_typed_is_one_turn_with_its_answer(
    deeds: list[str], *, patches: bool, merges: bool
) -> None:
    client = Client(patches=patches, merges=merges)
    for deed in deeds:
        DEEDS[deed](client)
    turns = GeminiJsonl().read(client.data()).turns
    assert [(turn.user_text, turn.native_id) for turn in turns] == client.prompts
    assert [turn.assistant_texts for turn in turns] == client.answers


def test_what_was_rewound_was_said_all_the_same() -> None:
    reading = read("rewound.jsonl")
    assert [(turn.user_text, turn.closed_by) for turn in reading.turns] == [
        ("Draw a cart.", ClosedBy.NEXT_PROMPT),
        ("Draw a till.", ClosedBy.INTERRUPTED),
        ("Draw a till.", ClosedBy.NEXT_PROMPT),
        ("Draw nothing.", None),
    ]
    assert reading.counts.skipped[SkipReason.REWIND] == 2
    assert reading.cwd == "/home/dev/shop"


def test_a_hint_given_with_an_outcome_is_steering_and_one_given_alone_is_a_prompt() -> None:
    reading = read("steering.jsonl")
    assert [(turn.user_text, turn.steering) for turn in reading.turns] == [
        ("Rename the module.", ["use git mv please"]),
        ("and the tests too", []),
        ("/review --strict", []),
    ]
    assert reading.counts.steering == 1


def test_a_prompt_is_shown_as_typed_but_a_nudge_that_repeats_it_is_none() -> None:
    turn = read("steering.jsonl").turns[2]
    assert turn.user_text == "/review --strict"
    assert turn.assistant_texts == ["Fine.", "Still fine."]


def test_crooked_lines_are_mended_and_counted() -> None:
    reading = read("crooked.jsonl")
    counts = reading.counts
    assert prompts(reading) == ["Glued?", "Numbers as text", "No id, no time"]
    assert (counts.invalid_lines, counts.concatenated_lines, counts.blank_lines) == (2, 1, 1)
    assert list(reading.turns[1].usage.values()) == [(12, 3)]
    assert counts.skipped[SkipReason.PREAMBLE] == 1
    assert counts.tool_calls == 1


def test_a_head_with_a_name_that_no_text_can_hold_is_read_all_the_same() -> None:
    data = bytes_of("snapshot.json").replace(b'"projectHash"', b'"\\ud800"')
    assert len(GeminiJson().read(data).turns) == 1


def test_the_path_of_an_older_release_is_the_call() -> None:
    calls = [{"id": "c1", "name": "read_file", "args": {"absolute_path": "/home/dev/a.py"}}]
    turn = only(lines(user("u1", "Read it."), spoken("g1", "", model="m", toolCalls=calls)))
    assert [tool.input for tool in turn.tool_calls] == ["/home/dev/a.py"]


def test_several_sessions_in_one_archive_keep_their_own_folders_and_ordinals() -> None:
    other = {"sessionId": "another", "projectHash": "77", "directories": ["/home/dev/lib"]}
    reading = lines(user("u1", "First."), other, user("u1", "Second."))
    assert [(turn.session_id, turn.ordinal, turn.cwd) for turn in reading.turns] == [
        (SESSION, 0, None),
        ("another", 0, "/home/dev/lib"),
    ]


def test_a_head_alone_is_known_and_holds_no_turn() -> None:
    head = b'{"sessionId":"s","projectHash":"h","startTime":"2026-03-02T09:00:00Z","kind":"main"}\n'
    known = formats.sniff(head)
    assert known is not None
    assert known.name.startswith("gemini_json")
    assert known.read(head).counts.skipped.total() == 1


def test_pieces_of_an_answer_are_joined_until_something_else_comes() -> None:
    assert only(read("run.jsonl")).assistant_texts == [
        "I will look first.",
        "Two tests fail",
        "Done.",
    ]


def test_outcomes_of_parallel_calls_find_them_by_id_and_may_be_missing() -> None:
    reading = read("run.jsonl")
    assert outcomes(only(reading)) == [
        ("list_directory", '{"dir_path":"."}', "", False),
        ("run_shell_command", "npm test", "2 failed", True),
        ("write_file", "a.html :: + <p>", "Tool execution denied by policy.", True),
    ]
    assert reading.counts.tool_calls == 3


def test_a_result_ends_the_turn_and_bills_the_run() -> None:
    turn = only(read("run.jsonl"))
    assert turn.closed_by is ClosedBy.SESSION_END
    assert turn.usage == {"run-1": (5000, 120)}
    assert turn.model == "auto-gemini-3"
    assert turn.started_at == datetime(2026, 3, 2, 9, 0, 1, tzinfo=UTC)
    assert turn.ended_at == datetime(2026, 3, 2, 9, 1, 9, tzinfo=UTC)


def test_what_the_client_prints_besides_is_counted_as_broken() -> None:
    counts = read("run.jsonl").counts
    assert (
        counts.invalid_lines,
        counts.skipped[SkipReason.INVALID_JSON],
        counts.first_invalid_line,
    ) == (1, 1, 1)


def test_each_run_is_a_session_and_one_without_a_result_broke_off() -> None:
    reading = read("runs.jsonl")
    assert [(turn.user_text, turn.ordinal, turn.closed_by) for turn in reading.turns] == [
        ("First run", 0, ClosedBy.SESSION_END),
        ("Second run, which crashes", 0, ClosedBy.INTERRUPTED),
        ("First run again", 1, ClosedBy.INTERRUPTED),
        ("Two prompts", 0, ClosedBy.NEXT_PROMPT),
        ("in one run", 1, None),
    ]


def test_a_session_gone_on_with_in_another_run_has_other_ids_there() -> None:
    whole = bytes_of("runs.jsonl").splitlines(keepends=True)
    known = formats.sniff(b"".join(whole))
    assert known is not None
    resumed = known.read(b"".join(whole[7:11]))
    assert only(resumed).native_id == known.read(b"".join(whole)).turns[2].native_id
    assert only(resumed).native_id != known.read(b"".join(whole[:4])).turns[0].native_id


def test_events_before_the_first_prompt_belong_to_no_turn() -> None:
    reading = read("slice.jsonl")
    assert only(reading).assistant_texts == ["Nothing."]
    assert reading.counts.skipped == {SkipReason.PREAMBLE: 3, SkipReason.OTHER: 1}
    assert reading.counts.tool_calls == 1


@pytest.mark.parametrize("text", [SNAPSHOT, "<hook_context>x</hook_context>"])
def test_what_a_machine_wrote_is_no_prompt_of_a_line_either(text: str) -> None:
    assert lines(user("u1", text), spoken("g1", ACKNOWLEDGED)).turns == []
