"""Chat logs and datasets: OpenAI messages and ShareGPT conversations."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnetl import formats
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.chat import OpenAIConversations, ShareGPT
from turnetl.formats.port import ParsedArchive, RawTurn

ARCHIVES = Path(__file__).parents[1] / "archives"
OPENAI = OpenAIConversations()
SHAREGPT = ShareGPT()


def openai(name: str) -> ParsedArchive:
    return OPENAI.read((ARCHIVES / "openai_conv" / name).read_bytes())


def sharegpt(name: str) -> ParsedArchive:
    return SHAREGPT.read((ARCHIVES / "sharegpt" / name).read_bytes())


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def native_ids(parsed: ParsedArchive) -> list[str]:
    return [turn.native_id for turn in parsed.turns]


def sessions(parsed: ParsedArchive) -> list[list[str]]:
    """Return the prompts of each conversation, in order."""
    prompts: dict[str, list[str]] = {}
    for turn in parsed.turns:
        prompts.setdefault(turn.session_id, []).append(turn.user_text)
    return list(prompts.values())


def calls(turn: RawTurn) -> list[tuple[str, str, str]]:
    return [(call.name, call.input, call.result) for call in turn.tool_calls]


def test_every_line_is_a_conversation() -> None:
    parsed = openai("lines.jsonl")
    assert sessions(parsed) == [
        ["Which shelf holds atlases?", "And globes?"],
        ["Hello"],
        ["Hello"],
        ["Are you open on Sunday?", "And on Monday?"],
    ]
    assert parsed.turns[0].assistant_texts == ["Shelf 12, by the window."]
    assert parsed.counts.blank_lines == 1


def test_a_prompt_without_an_answer_is_a_turn_also_before_another_prompt() -> None:
    first, second = openai("lines.jsonl").turns[-2:]
    assert (first.assistant_texts, first.closed_by) == ([], ClosedBy.NEXT_PROMPT)
    assert (second.assistant_texts, second.closed_by) == (["On Monday, from nine."], None)


def test_a_conversation_without_a_prompt_gives_no_turn() -> None:
    assert openai("lines.jsonl").counts.skipped == {
        SkipReason.BLANK: 1,
        SkipReason.PREAMBLE: 1,
        SkipReason.NO_MESSAGES: 1,
    }


def test_every_element_of_an_array_is_a_conversation() -> None:
    parsed = sharegpt("array.json")
    assert sessions(parsed) == [
        ["Who are you?", "Goodbye"],
        ["Who are you?"],
        ["Two questions.", "And a third."],
    ]


def test_a_turn_of_a_multi_line_document_has_its_own_lines() -> None:
    data = (ARCHIVES / "sharegpt" / "array.json").read_bytes()
    second = SHAREGPT.read(data).turns[1]
    text = data[second.first_byte : second.last_byte].decode()
    assert (text[0], text[-1]) == ("{", "}")
    assert "Goodbye!" in text
    assert "parrot" not in text
    assert (second.first_line, second.last_line) == (13, 20)


def test_results_match_their_calls_by_id_in_any_order() -> None:
    first, second = openai("tools.jsonl").turns[:2]
    assert calls(first) == [("run", "pytest -q", "2 passed"), ("count", "src", "14")]
    assert calls(second) == [("count", "docs", "3")]
    assert first.assistant_texts == ["Two tests pass, and src holds 14 files."]
    assert first.input_chars == len('{"command": "pytest -q"}') + len('{"path": "src"}')


def test_a_result_of_the_older_function_form_matches_its_call_by_name() -> None:
    turn = openai("tools.jsonl").turns[2]
    assert calls(turn) == [("clock", '{"city":"Lima"}', "14:20")]


def test_calls_without_ids_get_their_results_in_order_and_no_result_is_lost() -> None:
    turn = openai("tools.jsonl").turns[3]
    assert calls(turn) == [
        ("read", "a.txt", "first"),
        ("read", '{"path": "b.txt', '{"stdout":"","exit_code":1}'),
        ("tool", "", "nobody asked"),
    ]
    assert [call.is_error for call in turn.tool_calls] == [False, True, False]
    assert turn.assistant_texts == ["I cannot say more."]
    assert openai("tools.jsonl").counts.tool_calls == 6


def test_message_rows_form_one_conversation() -> None:
    parsed = openai("rows.jsonl")
    assert sessions(parsed) == [["Add a button to the page.", "Make it green."]]
    assert calls(parsed.turns[0]) == [
        ("Read", "page.html", "<html>\n</html>"),
        ("Bash", "ls", '{"stdout":"page.html","exit_code":0}'),
    ]
    assert parsed.turns[0].assistant_texts == ["I start with the page.", "There is a button now."]
    assert parsed.counts.skipped == {SkipReason.SYSTEM: 1, SkipReason.PREAMBLE: 1}


def test_message_rows_may_be_in_an_array() -> None:
    parsed = openai("rows.json")
    assert sessions(parsed) == [["Which tea is in stock?", "Order more of both."]]


def test_message_rows_with_a_session_id_form_one_conversation_per_id() -> None:
    parsed = openai("sessions.jsonl")
    assert sessions(parsed) == [
        ["Is the printer free?", "Then print it."],
        ["Who has the key?"],
    ]
    assert parsed.turns[0].assistant_texts == ["Yes."]


def test_parts_are_joined_and_other_content_has_placeholders() -> None:
    first, second, _ = openai("parts.json").turns
    assert first.user_text == "[image]\n\nWhat is on the cover?"
    assert first.assistant_texts == ["A red kite.", "And a tree."]
    assert second.user_text == "And here?\n\n[audio]\n\n[file]\n\n[scent]\n\nand this"
    assert second.assistant_texts == ["I cannot smell."]


@pytest.mark.parametrize("kind", [{}, [], 7, None])
def test_a_part_whose_type_is_not_a_text_is_read_by_its_text(kind: Any) -> None:
    parts = [{"type": kind, "text": "What is on the cover?"}, {"type": kind}]
    rows = [{"role": "user", "content": parts}, {"role": "assistant", "content": "A red kite."}]
    parsed = OPENAI.read(lines({"messages": rows}))
    assert parsed.turns[0].user_text.startswith("What is on the cover?\n\n[")


def test_one_message_may_have_the_results_of_several_calls() -> None:
    expected = [("price", '{"id":12}', "4.50"), ("price", '{"id":13}', "5.00")]
    turn = openai("parts.json").turns[2]
    assert calls(turn) == expected
    assert turn.user_text == "Find the price of 12 and 13."


def test_a_user_message_with_results_is_not_a_prompt_and_its_text_is_steering() -> None:
    parsed = openai("blocks.jsonl")
    (turn,) = parsed.turns
    assert calls(turn) == [("bash", "pytest", "1 failed")]
    assert turn.tool_calls[0].is_error
    assert turn.steering == ["only the first one matters"]
    assert turn.assistant_texts == ["Let me see.", "The fixture is empty."]


def test_the_preferred_of_two_answers_counts_and_no_turn_is_repeated() -> None:
    parsed = openai("pairs.jsonl")
    texts = [(turn.user_text, turn.assistant_texts) for turn in parsed.turns]
    assert texts == [
        ("Name a river.", ["The Elbe."]),
        ("Name a lake.", ["Lake Garda."]),
        ("Hello", ["Hello!"]),
        ("Name a sea.", ["The Baltic."]),
        ("Name a city.", ["Riga."]),
        ("Name a wind.", ["Mistral."]),
        ("Name a star.", ["Vega."]),
    ]
    assert parsed.counts.used == 6


@pytest.mark.parametrize("form", ["document", "line"])
def test_a_pair_may_be_a_document(form: str) -> None:
    data = (ARCHIVES / "openai_conv" / "pair.json").read_bytes()
    data = data if form == "document" else lines(json.loads(data))
    (turn,) = OPENAI.read(data).turns
    assert (turn.user_text, turn.assistant_texts) == ("Name a bridge.", ["The one in Mostar."])


def test_a_prompt_repeated_in_both_answers_is_one_turn() -> None:
    prompt, answer = user("Name a mountain."), assistant("The Rigi.")
    rejected = [prompt, assistant("A hole.")]
    pair = {"prompt": [prompt], "chosen": [prompt, answer], "rejected": rejected}
    for data in (lines(pair), json.dumps(pair, indent=1).encode()):
        (turn,) = OPENAI.read(data).turns
        assert turn.assistant_texts == ["The Rigi."]


def test_sharegpt_pairs_continue_with_the_preferred_answer() -> None:
    turns = sharegpt("pairs.json").turns
    assert [turn.assistant_texts for turn in turns] == [["A pear."], ["A plum."], ["A hazel."]]


def test_sharegpt_calls_are_json_in_a_text() -> None:
    parsed = sharegpt("tools.json")
    first, _, third, _ = parsed.turns
    assert calls(first) == [("random", '{"max":100}', '{"number": 57}')]
    assert calls(third) == [
        ("mul", '{"a":17,"b":19}', "323"),
        ("mul", '{"a":17,"b":21}', "357"),
        ("", "print(17)", "17"),
        ("mul", '{"a":1,"b":1}', "1"),
    ]
    assert parsed.counts.tool_calls == 6


def test_a_result_whose_call_is_in_a_text_is_kept() -> None:
    turn = sharegpt("tools.json").turns[-1]
    assert calls(turn) == [("tool", "", "seen")]
    assert turn.assistant_texts == ['<tool_call>{"name": "look"}</tool_call>', "I see."]


def test_sharegpt_has_several_names_for_speakers_and_contents() -> None:
    turns = sharegpt("lines.jsonl").turns
    assert [(turn.user_text, turn.assistant_texts) for turn in turns] == [
        ("Hello", ["Hi."]),
        ("What rhymes with tea?", ["Sea."]),
        ("And with book?", ["Hook."]),
        ("Thanks", []),
    ]


def test_a_turn_has_its_own_time_or_else_the_last_known() -> None:
    first, second = openai("document.json").turns
    assert first.started_at == datetime(2026, 1, 5, 10, 0, 5, tzinfo=UTC)
    assert first.ended_at == datetime(2026, 1, 5, 10, 0, 10, 500_000, tzinfo=UTC)
    assert (second.started_at, second.ended_at) == (first.ended_at, None)
    assert (first.model, second.model, first.prompt_id) == ("gpt-4o", "gpt-4o-mini", "msg-1")


def test_most_chats_have_no_time() -> None:
    turns = [*openai("lines.jsonl").turns, *sharegpt("array.json").turns]
    assert {(turn.started_at, turn.ended_at) for turn in turns} == {(None, None)}


def test_conversations_with_equal_numbers_have_different_ids() -> None:
    first = OPENAI.read(lines({"id": 0, "messages": [user("a"), assistant("b")]}))
    second = OPENAI.read(lines({"id": 0, "messages": [user("a"), assistant("c")]}))
    assert not set(native_ids(first)) & set(native_ids(second))


def test_the_ids_of_a_conversation_do_not_depend_on_its_position() -> None:
    rows = [{"messages": [user(text), assistant("yes")]} for text in "abca"]
    in_order = OPENAI.read(lines(*rows))
    assert len(set(native_ids(in_order))) == len(rows)
    assert set(native_ids(OPENAI.read(lines(*reversed(rows))))) == set(native_ids(in_order))
    assert set(native_ids(OPENAI.read(json.dumps(rows, indent=2).encode()))) == set(
        native_ids(in_order)
    )


@pytest.mark.parametrize("form", ["rows", "document", "line"])
def test_turns_keep_their_ids_while_a_conversation_grows(form: str) -> None:
    messages = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]

    def read(until: int) -> list[str]:
        conversation = {"id": "chat-1", "messages": messages[:until]}
        encoded = {
            "rows": lines(*messages[:until]),
            "document": json.dumps(conversation, indent=2).encode(),
            "line": json.dumps(conversation).encode(),
        }
        return native_ids(OPENAI.read(encoded[form]))

    all_ids = read(5)
    assert [read(2), read(3), read(4)] == [all_ids[:1], all_ids[:2], all_ids[:2]]


def test_conversations_that_start_alike_share_only_the_ids_of_their_start() -> None:
    start = [user("a"), assistant("b"), user("c"), assistant("d")]
    one = native_ids(OPENAI.read(lines(*start, user("more"))))
    other = native_ids(OPENAI.read(lines(*start[:2], user("else"))))
    assert one[0] == other[0]
    assert one[1] != other[1]


def test_a_truncated_document_gives_the_messages_before_the_truncation() -> None:
    data = (ARCHIVES / "openai_conv" / "document.json").read_bytes()
    truncated = data[: data.index(b"At eight") - 5]
    assert formats.sniff(truncated) is not None
    assert native_ids(OPENAI.read(truncated)) == native_ids(OPENAI.read(data))


def test_a_lone_surrogate_loses_no_turn() -> None:
    turns = openai("half_character.jsonl").turns
    assert [(turn.user_text, turn.assistant_texts) for turn in turns] == [
        ("A face ?", ["C:\\\\ud83d"]),
        ("Another ?", ["Yes \U0001f642"]),
    ]
    assert sharegpt("half_character.json").turns[0].user_text == "Where is the till ??"


def test_one_stray_row_among_many_does_not_change_the_format() -> None:
    rows = [{"messages": [user(f"{number}"), assistant("yes")]} for number in range(8)]
    stray = {"mesages": [user("lost")]}
    many = lines(*rows[:7], stray, *rows[7:])
    assert formats.sniff(many) is not None
    assert formats.sniff(lines(rows[0], stray)) is None
    assert OPENAI.read(many).counts.skipped == {SkipReason.NO_MESSAGES: 1}


@pytest.mark.parametrize("odd", [None, 7, "x", ["x"], [None], {"role": 3}, [[]], [{"role": "x"}]])
@pytest.mark.parametrize("key", ["messages", "conversations", "chosen", "input", "prompt"])
def test_values_of_any_type_are_read(key: str, odd: Any) -> None:
    parsed = OPENAI.read(lines({"messages": [user("a")]}, {key: odd}))
    assert parsed.counts.lines == parsed.counts.used + sum(parsed.counts.skipped.values()) == 2
    assert len(parsed.turns) == 1


@pytest.mark.parametrize("odd", [7, {"a": 1}, [1], [None], [{"type": 3}], [{"text": 3}], True])
@pytest.mark.parametrize("key", ["content", "tool_calls", "function_call", "timestamp", "id"])
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_messages_with_values_of_any_type_stay_in_their_turn(role: str, key: str, odd: Any) -> None:
    parsed = OPENAI.read(lines(user("a"), {"role": role, "content": "b", key: odd}))
    assert parsed.counts.used == 2
    assert len(parsed.turns) == 1 + (role == "user")
