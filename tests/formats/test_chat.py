"""Chats and the datasets made of them: OpenAI's messages and ShareGPT's conversations."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnetl import formats
from turnetl.formats.base import ParsedArchive, RawTurn
from turnetl.formats.chat import OpenAIConversations, ShareGPT
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

SMALL = Path(__file__).parents[1] / "archives"
OPENAI = OpenAIConversations()
SHAREGPT = ShareGPT()


def openai(name: str) -> ParsedArchive:
    return OPENAI.read((SMALL / OPENAI.name / name).read_bytes())


def sharegpt(name: str) -> ParsedArchive:
    return SHAREGPT.read((SMALL / SHAREGPT.name / name).read_bytes())


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def natives(reading: ParsedArchive) -> list[str]:
    return [turn.native_id for turn in reading.turns]


def sessions(reading: ParsedArchive) -> list[list[str]]:
    """The prompts of each conversation, in order."""
    found: dict[str, list[str]] = {}
    for turn in reading.turns:
        found.setdefault(turn.session_id, []).append(turn.user_text)
    return list(found.values())


def used(turn: RawTurn) -> list[tuple[str, str, str]]:
    return [(tool.name, tool.input, tool.result) for tool in turn.tool_calls]


def test_every_line_is_a_conversation_of_its_own() -> None:
    reading = openai("lines.jsonl")
    assert sessions(reading) == [
        ["Which shelf holds atlases?", "And globes?"],
        ["Hello"],
        ["Hello"],
        ["Are you open on Sunday?", "And on Monday?"],
    ]
    assert reading.turns[0].assistant_texts == ["Shelf 12, by the window."]
    assert reading.counts.blank_lines == 1


def test_a_prompt_without_an_answer_is_a_turn_also_before_another_prompt() -> None:
    first, second = openai("lines.jsonl").turns[-2:]
    assert (first.assistant_texts, first.closed_by) == ([], ClosedBy.NEXT_PROMPT)
    assert (second.assistant_texts, second.closed_by) == (["On Monday, from nine."], None)


def test_a_conversation_in_which_nobody_asks_gives_no_turn() -> None:
    assert openai("lines.jsonl").counts.skipped == {
        SkipReason.BLANK: 1,
        SkipReason.PREAMBLE: 1,
        SkipReason.NO_MESSAGES: 1,
    }


def test_every_element_of_an_array_is_a_conversation_of_its_own() -> None:
    reading = sharegpt("array.json")
    assert sessions(reading) == [
        ["Who are you?", "Goodbye"],
        ["Who are you?"],
        ["Two questions.", "And a third."],
    ]


def test_a_turn_in_a_document_over_many_lines_has_lines_of_its_own() -> None:
    data = (SMALL / "sharegpt" / "array.json").read_bytes()
    second = SHAREGPT.read(data).turns[1]
    text = data[second.first_byte : second.last_byte].decode()
    assert (text[0], text[-1]) == ("{", "}")
    assert "Goodbye!" in text
    assert "parrot" not in text
    assert (second.first_line, second.last_line) == (13, 20)


def test_outcomes_find_their_calls_by_key_also_out_of_order() -> None:
    first, second = openai("tools.jsonl").turns[:2]
    assert used(first) == [("run", "pytest -q", "2 passed"), ("count", "src", "14")]
    assert used(second) == [("count", "docs", "3")]
    assert first.assistant_texts == ["Two tests pass, and src holds 14 files."]
    assert first.input_chars == len('{"command": "pytest -q"}') + len('{"path": "src"}')


def test_a_function_of_the_older_form_finds_its_call_by_name() -> None:
    turn = openai("tools.jsonl").turns[2]
    assert used(turn) == [("clock", '{"city":"Lima"}', "14:20")]


def test_calls_without_keys_get_their_outcomes_in_order_and_nothing_is_lost() -> None:
    turn = openai("tools.jsonl").turns[3]
    assert used(turn) == [
        ("read", "a.txt", "first"),
        ("read", '{"path": "b.txt', '{"stdout":"","exit_code":1}'),
        ("tool", "", "nobody asked"),
    ]
    assert [tool.is_error for tool in turn.tool_calls] == [False, True, False]
    assert turn.assistant_texts == ["I cannot say more."]
    assert openai("tools.jsonl").counts.tool_calls == 6


def test_rows_are_one_conversation_together() -> None:
    reading = openai("rows.jsonl")
    assert sessions(reading) == [["Add a button to the page.", "Make it green."]]
    assert used(reading.turns[0]) == [
        ("Read", "page.html", "<html>\n</html>"),
        ("Bash", "ls", '{"stdout":"page.html","exit_code":0}'),
    ]
    assert reading.turns[0].assistant_texts == ["I start with the page.", "There is a button now."]
    assert reading.counts.skipped == {SkipReason.SYSTEM: 1, SkipReason.PREAMBLE: 1}


def test_rows_may_stand_in_an_array() -> None:
    reading = openai("rows.json")
    assert sessions(reading) == [["Which tea is in stock?", "Order more of both."]]


def test_rows_that_name_their_session_are_conversations_by_that_name() -> None:
    reading = openai("sessions.jsonl")
    assert sessions(reading) == [
        ["Is the printer free?", "Then print it."],
        ["Who has the key?"],
    ]
    assert reading.turns[0].assistant_texts == ["Yes."]


def test_parts_are_joined_and_what_is_no_text_is_named() -> None:
    first, second, _ = openai("parts.json").turns
    assert first.user_text == "[image]\n\nWhat is on the cover?"
    assert first.assistant_texts == ["A red kite.", "And a tree."]
    assert second.user_text == "And here?\n\n[audio]\n\n[file]\n\n[scent]\n\nand this"
    assert second.assistant_texts == ["I cannot smell."]


def test_one_message_may_hold_the_outcomes_of_several_calls() -> None:
    expected = [("price", '{"id":12}', "4.50"), ("price", '{"id":13}', "5.00")]
    turn = openai("parts.json").turns[2]
    assert used(turn) == expected
    assert turn.user_text == "Find the price of 12 and 13."


def test_outcomes_among_a_persons_words_are_no_prompt_and_the_words_are_steering() -> None:
    reading = openai("blocks.jsonl")
    (turn,) = reading.turns
    assert used(turn) == [("bash", "pytest", "1 failed")]
    assert turn.tool_calls[0].is_error
    assert turn.steering == ["only the first one matters"]
    assert turn.assistant_texts == ["Let me see.", "The fixture is empty."]


def test_of_two_answers_the_preferred_one_was_said_and_no_turn_doubles() -> None:
    reading = openai("pairs.jsonl")
    said = [(turn.user_text, turn.assistant_texts) for turn in reading.turns]
    assert said == [
        ("Name a river.", ["The Elbe."]),
        ("Name a lake.", ["Lake Garda."]),
        ("Hello", ["Hello!"]),
        ("Name a sea.", ["The Baltic."]),
        ("Name a city.", ["Riga."]),
        ("Name a wind.", ["Mistral."]),
        ("Name a star.", ["Vega."]),
    ]
    assert reading.counts.used == 6


@pytest.mark.parametrize("form", ["document", "line"])
def test_a_pair_may_be_a_document(form: str) -> None:
    data = (SMALL / "openai_conv" / "pair.json").read_bytes()
    data = data if form == "document" else lines(json.loads(data))
    (turn,) = OPENAI.read(data).turns
    assert (turn.user_text, turn.assistant_texts) == ("Name a bridge.", ["The one in Mostar."])


def test_a_prompt_that_stands_with_both_answers_is_one_turn() -> None:
    asked, said = user("Name a mountain."), assistant("The Rigi.")
    pair = {"prompt": [asked], "chosen": [asked, said], "rejected": [asked, assistant("A hole.")]}
    for data in (lines(pair), json.dumps(pair, indent=1).encode()):
        (turn,) = OPENAI.read(data).turns
        assert turn.assistant_texts == ["The Rigi."]


def test_pairs_of_sharegpt_go_on_with_the_preferred_answer() -> None:
    turns = sharegpt("pairs.json").turns
    assert [turn.assistant_texts for turn in turns] == [["A pear."], ["A plum."], ["A hazel."]]


def test_calls_of_sharegpt_are_json_in_a_text() -> None:
    reading = sharegpt("tools.json")
    first, _, third, _ = reading.turns
    assert used(first) == [("random", '{"max":100}', '{"number": 57}')]
    assert used(third) == [
        ("mul", '{"a":17,"b":19}', "323"),
        ("mul", '{"a":17,"b":21}', "357"),
        ("", "print(17)", "17"),
        ("mul", '{"a":1,"b":1}', "1"),
    ]
    assert reading.counts.tool_calls == 6


def test_an_outcome_whose_call_stands_in_a_text_is_kept() -> None:
    turn = sharegpt("tools.json").turns[-1]
    assert used(turn) == [("tool", "", "seen")]
    assert turn.assistant_texts == ['<tool_call>{"name": "look"}</tool_call>', "I see."]


def test_sharegpt_has_many_names_for_who_speaks_and_what_is_said() -> None:
    turns = sharegpt("lines.jsonl").turns
    assert [(turn.user_text, turn.assistant_texts) for turn in turns] == [
        ("Hello", ["Hi."]),
        ("What rhymes with tea?", ["Sea."]),
        ("And with book?", ["Hook."]),
        ("Thanks", []),
    ]


def test_a_time_is_taken_where_it_is_one_and_else_the_last_one_before() -> None:
    first, second = openai("document.json").turns
    assert first.started_at == datetime(2026, 1, 5, 10, 0, 5, tzinfo=UTC)
    assert first.ended_at == datetime(2026, 1, 5, 10, 0, 10, 500_000, tzinfo=UTC)
    assert (second.started_at, second.ended_at) == (first.ended_at, None)
    assert (first.model, second.model, first.prompt_id) == ("gpt-4o", "gpt-4o-mini", "msg-1")


def test_most_chats_have_no_time() -> None:
    turns = [*openai("lines.jsonl").turns, *sharegpt("array.json").turns]
    assert {(turn.started_at, turn.ended_at) for turn in turns} == {(None, None)}


def test_equal_numbers_do_not_make_two_conversations_one() -> None:
    mine = OPENAI.read(lines({"id": 0, "messages": [user("a"), assistant("b")]}))
    yours = OPENAI.read(lines({"id": 0, "messages": [user("a"), assistant("c")]}))
    assert not set(natives(mine)) & set(natives(yours))


def test_a_conversation_has_its_name_wherever_it_stands() -> None:
    rows = [{"messages": [user(text), assistant("yes")]} for text in "abca"]
    straight = OPENAI.read(lines(*rows))
    assert len(set(natives(straight))) == len(rows)
    assert set(natives(OPENAI.read(lines(*reversed(rows))))) == set(natives(straight))
    assert set(natives(OPENAI.read(json.dumps(rows, indent=2).encode()))) == set(natives(straight))


@pytest.mark.parametrize("form", ["rows", "document", "line"])
def test_turns_keep_their_ids_while_a_conversation_grows(form: str) -> None:
    talk = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]

    def read(until: int) -> list[str]:
        said = {"id": "chat-1", "messages": talk[:until]}
        written = {
            "rows": lines(*talk[:until]),
            "document": json.dumps(said, indent=2).encode(),
            "line": json.dumps(said).encode(),
        }
        return natives(OPENAI.read(written[form]))

    whole = read(5)
    assert [read(2), read(3), read(4)] == [whole[:1], whole[:2], whole[:2]]


def test_conversations_that_begin_alike_share_their_beginning_only() -> None:
    begun = [user("a"), assistant("b"), user("c"), assistant("d")]
    one = natives(OPENAI.read(lines(*begun, user("more"))))
    other = natives(OPENAI.read(lines(*begun[:2], user("else"))))
    assert one[0] == other[0]
    assert one[1] != other[1]


def test_a_document_that_is_cut_off_gives_the_messages_before_the_cut() -> None:
    data = (SMALL / "openai_conv" / "document.json").read_bytes()
    cut = data[: data.index(b"At eight") - 5]
    assert formats.sniff(cut) is not None
    assert natives(OPENAI.read(cut)) == natives(OPENAI.read(data))


def test_half_a_character_takes_no_turn_away() -> None:
    said = [(turn.user_text, turn.assistant_texts) for turn in openai("half_character.jsonl").turns]
    assert said == [("A face ?", ["C:\\\\ud83d"]), ("Another ?", ["Yes \U0001f642"])]
    assert sharegpt("half_character.json").turns[0].user_text == "Where is the till ??"


def test_a_stray_row_among_many_makes_no_other_format() -> None:
    rows = [{"messages": [user(f"{number}"), assistant("yes")]} for number in range(8)]
    stray = {"mesages": [user("lost")]}
    many = lines(*rows[:7], stray, *rows[7:])
    assert formats.sniff(many) is not None
    assert formats.sniff(lines(rows[0], stray)) is None
    assert OPENAI.read(many).counts.skipped == {SkipReason.NO_MESSAGES: 1}


@pytest.mark.parametrize("odd", [None, 7, "x", ["x"], [None], {"role": 3}, [[]], [{"role": "x"}]])
@pytest.mark.parametrize("key", ["messages", "conversations", "chosen", "input", "prompt"])
def test_values_of_any_type_are_read_without_a_complaint(key: str, odd: Any) -> None:
    reading = OPENAI.read(lines({"messages": [user("a")]}, {key: odd}))
    assert reading.counts.lines == reading.counts.used + sum(reading.counts.skipped.values()) == 2
    assert len(reading.turns) == 1


@pytest.mark.parametrize("odd", [7, {"a": 1}, [1], [None], [{"type": 3}], [{"text": 3}], True])
@pytest.mark.parametrize("key", ["content", "tool_calls", "function_call", "timestamp", "id"])
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_messages_with_values_of_any_type_stay_in_their_turn(role: str, key: str, odd: Any) -> None:
    reading = OPENAI.read(lines(user("a"), {"role": role, "content": "b", key: odd}))
    assert reading.counts.used == 2
    assert len(reading.turns) == 1 + (role == "user")
