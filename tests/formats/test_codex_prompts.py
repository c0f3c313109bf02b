"""Prompts and answers of Codex rollouts that stand in rows of several kinds."""

from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.codex_rollout import (
    Row,
    answer,
    completed,
    ended,
    event,
    lines,
    message,
    prompt,
    response,
    rollout,
    started,
    turn_id,
)
from turnetl.base.reason import SkipReason
from turnetl.formats.codex import Codex
from turnetl.formats.port import ParsedArchive

ARCHIVES = Path(__file__).parents[1] / "archives" / "codex"
KINDS = ("event", "item", "message")
INSERTED = (
    "# AGENTS.md instructions for /shop\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
    "<environment_context>\n  <cwd>/shop</cwd>\n</environment_context>",
    "<skill>\n<name>tests</name>\n</skill>",
)
HOSTILE = (
    '{"user_message": "printer on fire"}',
    '{"type": "UserMessage"}',
    '{"type": "event_msg", "payload": {"type": "user_message", "message": "no"}}',
    '"item_completed" "agent_message"',
)


def conversation(parsed: ParsedArchive) -> list[tuple[str, list[str]]]:
    """Return each prompt with its answers."""
    counts = parsed.counts
    assert counts.lines == counts.used + sum(counts.skipped.values())
    assert 0 not in counts.skipped.values()
    return [(turn.user_text, turn.assistant_texts) for turn in parsed.turns]


def read(name: str) -> ParsedArchive:
    return Codex().read((ARCHIVES / name).read_bytes())


def test_a_rollout_continued_by_a_newer_version_has_the_prompts_of_both() -> None:
    parsed = read("continued.jsonl")
    assert conversation(parsed) == [
        ("Count the stock", ["Twelve."]),
        ("Sort it", ["Sorted."]),
        ("Print it", ["Printed."]),
    ]
    assert len({turn.prompt_id for turn in parsed.turns}) == 3


def test_names_of_prompts_within_a_tools_result_change_nothing() -> None:
    parsed = read("ticket.jsonl")
    assert conversation(parsed) == [
        ("Look up ticket 12", ["It is about the printer."]),
        ("Close it", ["Closed."]),
    ]


def test_a_migrated_rollout_has_each_prompt_and_each_answer_once() -> None:
    assert conversation(read("migrated.jsonl")) == [("Say it once", ["Once."])]


def test_prompts_of_the_desktop_client_exclude_its_context() -> None:
    parsed = read("desktop.jsonl")
    assert conversation(parsed) == [
        ("Make the button blue", ["Blue it is."]),
        ("Now make it green", ["Green."]),
    ]
    assert [turn.prompt_id for turn in parsed.turns] == [turn_id(1), turn_id(2)]


def test_a_prompt_and_an_answer_count_once_in_any_order_of_their_rows(
    subtests: pytest.Subtests,
) -> None:
    for order in [*permutations(KINDS), *permutations(KINDS, 2), *zip(KINDS)]:
        with subtests.test(order=order):
            rows = [
                started(1),
                *(prompt(kind, "Sort it", 1) for kind in order),
                *(answer(kind, "Sorted.", 1) for kind in order),
            ]
            assert conversation(rollout(*rows)) == [("Sort it", ["Sorted."])]
            assert conversation(rollout(*rows[1:])) == [("Sort it", ["Sorted."])]


@pytest.mark.parametrize(("first", "second"), [*product(KINDS, KINDS)])
def test_a_prompt_typed_twice_is_two_turns(first: str, second: str) -> None:
    once = [prompt(first, "go on", 1), answer(first, "Done.", 1)]
    again = [prompt(second, "go on", 2), answer(second, "Done, too.", 2)]
    expected = [("go on", ["Done."]), ("go on", ["Done, too."])]
    assert conversation(rollout(started(1), *once, ended(1), started(2), *again)) == expected
    assert conversation(rollout(started(1), *once, started(2), *again)) == expected
    assert conversation(rollout(*once, *again)) == expected


def test_rows_that_repeat_a_prompt_may_follow_the_answer_to_it() -> None:
    rows = [
        started(1),
        *(prompt("event", "Sort it", 1), answer("event", "Sorted.", 1)),
        *(prompt("message", "Sort it", 1), answer("message", "Sorted.", 1)),
    ]
    assert conversation(rollout(*rows)) == [("Sort it", ["Sorted."])]


@pytest.mark.parametrize("short", ["turn-1", "0"])
def test_an_item_that_is_written_again_under_a_short_turn_id_is_one_turn(short: str) -> None:
    item = {"type": "UserMessage", "content": [{"type": "text", "text": "Say it"}]}
    again = [event("item_completed", turn_id=short, item=item | {"id": f"i{n}"}) for n in "123"]
    assert [text for text, _ in conversation(rollout(*again, answer("event", "Yes.", 1)))] == [
        "Say it"
    ]


def test_a_text_that_the_agent_wrote_twice_is_kept_twice() -> None:
    call = response(type="function_call", name="shell", arguments="{}", call_id="1")
    done = [answer(kind, "Done.", 1) for kind in KINDS]
    parsed = rollout(prompt("item", "x", 1), *done, call, *done)
    assert conversation(parsed) == [("x", ["Done.", "Done."])]


def test_different_texts_with_the_same_beginning_are_both_kept() -> None:
    rows = [answer("event", "I will sort it", 1), answer("message", "I will sort all", 1)]
    assert conversation(rollout(prompt("event", "x", 1), *rows)) == [
        ("x", ["I will sort it", "I will sort all"])
    ]


def test_a_prompt_without_an_answer_is_a_turn_whatever_its_kind() -> None:
    for kind in KINDS:
        parsed = rollout(
            started(1),
            prompt(kind, "Sort it", 1),
            event("turn_aborted", turn_id=turn_id(1), reason="interrupted"),
            started(2),
            prompt("message", "Count it", 2),
        )
        assert conversation(parsed) == [("Sort it", []), ("Count it", [])]
        assert [turn.prompt_id for turn in parsed.turns] == [turn_id(1), turn_id(2)]


def test_a_message_beside_the_users_own_that_no_event_repeats_is_the_clients() -> None:
    unknown = "<new_kind_of_context>\nfree disk: 7 GB\n</new_kind_of_context>"
    own = [prompt("message", "Sort it", 1), prompt("event", "Sort it", 1)]
    for rows in ([message("user", unknown), *own], [*own, message("user", unknown)]):
        parsed = rollout(started(1), *rows, answer("event", "Sorted.", 1))
        assert conversation(parsed) == [("Sort it", ["Sorted."])]
        assert parsed.counts.skipped[SkipReason.UNCONFIRMED] == 1


TAGGED = ("<task>please sort it</task>", "<sort_task>\nplease sort it\n</sort_task>")


@pytest.mark.parametrize("text", TAGGED)
@pytest.mark.parametrize("kind", ["event", "item"])
def test_a_text_in_an_unknown_tag_that_alone_was_responded_to_is_a_prompt(
    kind: str, text: str
) -> None:
    confirmed = [prompt(kind, "Count it", 1), answer(kind, "Twelve.", 1)]
    tagged = [message("user", text), answer("event", "Sorted.", 2)]
    expected = [("Count it", ["Twelve."]), (text, ["Sorted."])]
    within = [started(1), *confirmed, ended(1), started(2), *tagged, ended(2)]
    for rows in (within, [*confirmed, *tagged]):
        assert conversation(rollout(*rows)) == expected
    context = message("user", "<new_kind_of_context>\n7 GB\n</new_kind_of_context>")
    assert conversation(rollout(*confirmed, context, *tagged)) == expected


@pytest.mark.parametrize("text", TAGGED)
def test_a_text_in_an_unknown_tag_of_a_task_that_was_never_responded_to_is_a_prompt(
    text: str,
) -> None:
    first = [started(1), prompt("event", "Count it", 1), answer("event", "Twelve.", 1), ended(1)]
    rows = [*first, started(2), message("user", text)]
    for more in ([], [started(3), prompt("event", "Print it", 3)]):
        prompts = [said for said, _ in conversation(rollout(*rows, *more))]
        assert prompts[:2] == ["Count it", text]


def test_a_text_in_an_unknown_tag_within_a_running_task_is_the_clients() -> None:
    notice = message("user", "<new_kind_of_notice>\n7 GB\n</new_kind_of_notice>")
    rows = [prompt("event", "Sort it", 1), answer("event", "Reading.", 1), notice]
    parsed = rollout(started(1), *rows, answer("event", "Sorted.", 1), ended(1))
    assert conversation(parsed) == [("Sort it", ["Reading.", "Sorted."])]
    assert parsed.counts.skipped[SkipReason.UNCONFIRMED] == 1


def test_what_codex_asks_its_reviewer_is_no_prompt() -> None:
    parsed = rollout(
        *(started(1), prompt("event", "Review it", 1), event("entered_review_mode")),
        *(message("user", "Review the current code changes"), answer("message", "A bug.", 1)),
        event("exited_review_mode", review_output={"overall_explanation": "Bad.", "findings": []}),
        *(ended(1), started(2), prompt("message", "Mend it", 2), answer("message", "Mended.", 2)),
    )
    assert conversation(parsed) == [("Review it", ["A bug.", "Bad."]), ("Mend it", ["Mended."])]


def test_a_row_written_twice_under_its_number_counts_once() -> None:
    rows = lines(
        [
            *(started(1), prompt("event", "Sort it", 1), answer("event", "Sorted.", 1)),
            *(prompt("event", "Sort it", 1), answer("event", "Sorted.", 1), ended(1)),
        ]
    )
    numbers = [0, 1, 2, 1, 2, 3]
    numbered = [
        line.replace(b"{", b'{"ordinal": %d, ' % number, 1)
        for number, line in zip(numbers, rows.split(b"\n"), strict=True)
    ]
    assert conversation(Codex().read(b"\n".join(numbered))) == [("Sort it", ["Sorted."])]


def test_a_prompt_of_skills_and_images_only_is_a_turn() -> None:
    skill: dict[str, Any] = {"type": "skill", "name": "deploy", "path": "/s"}
    image = {"type": "local_image", "path": "/a.png"}
    parsed = rollout(
        completed({"type": "UserMessage", "content": [skill]}, 1),
        answer("item", "Deployed.", 1),
        completed({"type": "UserMessage", "content": [image]}, 2),
    )
    assert [text for text, _ in conversation(parsed)] == ["$deploy", "[image]"]


def test_a_message_on_a_line_with_its_answer_is_counted_once() -> None:
    first, second = lines([prompt("message", "x", 1), answer("message", "y", 1)]).split(b"\n")
    assert conversation(Codex().read(first + second)) == [("x", ["y"])]


class DrawnText(NamedTuple):
    """A prompt or an answer and the kinds of its rows."""

    text: str
    kinds: tuple[str, ...]


class DrawnTurn(NamedTuple):
    said: DrawnText
    answers: tuple[DrawnText, ...]
    inserted: tuple[str, ...]
    """Texts of the client before the prompt."""
    output: str
    """Of a tool that is called before the last answer."""
    is_steering: bool
    has_end: bool


_orders = [order for size in (1, 2, 3) for order in permutations(KINDS, size)]
_texts = st.one_of(st.sampled_from(HOSTILE), st.text("ab <>#\n\u2028\u00e9", min_size=1))
_said = st.builds(DrawnText, _texts.filter(str.strip), st.sampled_from(_orders))
_turns = st.builds(
    DrawnTurn,
    _said,
    st.lists(_said, min_size=1, max_size=3).map(tuple),
    st.lists(st.sampled_from(INSERTED), max_size=2).map(tuple),
    st.sampled_from(HOSTILE),
    st.booleans(),
    st.booleans(),
)


def written(turns: list[DrawnTurn], *, with_tasks: bool) -> Iterator[Row]:
    task = 0
    for number, turn in enumerate(turns):
        if with_tasks and not (turn.is_steering and number):
            if number and turns[number - 1].has_end:
                yield ended(task)
            task += 1
            yield started(task)
        yield from (message("user", text) for text in turn.inserted)
        yield from (prompt(kind, turn.said.text, task) for kind in turn.said.kinds)
        yield from called(f"call {number}", turn.output)
        for said in turn.answers:
            yield from (answer(kind, said.text, task) for kind in said.kinds)


def called(key: str, output: str) -> Iterator[Row]:
    yield response(type="function_call", name="get", arguments=output, call_id=key)
    yield response(type="function_call_output", call_id=key, output=output)


@given(st.lists(_turns, min_size=1, max_size=4), st.booleans())
def test_every_prompt_is_read_once_with_its_answers(
    turns: list[DrawnTurn], with_tasks: bool
) -> None:
    # Numbers make the texts unequal, so that no answer is a version of another.
    unequal = [
        turn._replace(
            said=turn.said._replace(text=f"prompt {number} {turn.said.text}"),
            answers=tuple(
                said._replace(text=f"{number}.{place} says {said.text}")
                for place, said in enumerate(turn.answers)
            ),
        )
        for number, turn in enumerate(turns)
    ]
    parsed = Codex().read(lines(written(unequal, with_tasks=with_tasks)))
    assert conversation(parsed) == [
        (turn.said.text.strip(), [said.text for said in turn.answers]) for turn in unequal
    ]
