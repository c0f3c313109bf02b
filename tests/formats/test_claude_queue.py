"""Claude Code's queue: what a person typed is in the tables, or counted under a reason."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.reason import SkipReason
from turnetl.formats.claude.reader import ClaudeCode
from turnetl.formats.port import ParsedArchive

SESSION = "8d0c2f1a-0000-4000-8000-000000000001"
TASK = json.dumps({"task_id": "b1", "description": "Run it", "task_type": "local_bash"})
MACHINE = (
    TASK,
    "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
    "<agent-notification>\n<agent-id>a1</agent-id>\n</agent-notification>",
    "/model opus",
    "/exit",
)
Row = dict[str, Any]


def queued(operation: str, text: str | None = None, **more: str) -> Row:
    content = {} if text is None else {"content": text}
    return {"type": "queue-operation", "operation": operation, **content, **more}


def typed(text: str) -> Row:
    return {"type": "user", "message": {"role": "user", "content": text}}


def attached(text: str) -> Row:
    attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": text}
    return {"type": "attachment", "attachment": attachment}


def read(rows: Sequence[Row]) -> ParsedArchive:
    """Read the rows behind a first prompt, each with the fields that all rows have."""
    lines = [
        {"sessionId": SESSION, "timestamp": "2026-03-02T09:00:00Z", **row}
        | ({"uuid": f"00000000-0000-4000-8000-{number:012}"} if row["type"] == "user" else {})
        for number, row in enumerate([typed("Begin"), *rows])
    ]
    return ClaudeCode().read("\n".join(map(json.dumps, lines)).encode())


def in_tables(parsed: ParsedArchive) -> list[str]:
    texts = [[turn.user_text, *turn.steering] for turn in parsed.turns]
    return [text for one in texts for text in one][1:]


def left_out(parsed: ParsedArchive) -> int:
    return sum(parsed.counts.skipped[one] for one in (WITHDRAWN, UNDELIVERED))


WITHDRAWN, UNDELIVERED = SkipReason.WITHDRAWN, SkipReason.UNDELIVERED
TEXTS = st.sampled_from([f"words {number}" for number in range(4)])
ANY = st.one_of(TEXTS, st.sampled_from(MACHINE))
ROWS = st.one_of(
    st.builds(queued, st.just("enqueue"), ANY),
    st.builds(queued, st.sampled_from(["dequeue", "remove", "popAll"])),
    st.builds(queued, st.sampled_from(["dequeue", "remove"]), ANY),
    st.builds(queued, st.sampled_from(["dequeue", "remove"]), reason=st.just("cancelled")),
    st.builds(typed, ANY),
    st.builds(attached, TEXTS),
)


@given(st.lists(ROWS, max_size=14))
def test_what_a_person_queued_is_in_a_table_or_counted_under_a_reason(rows: list[Row]) -> None:
    parsed = read(rows)
    found = in_tables(parsed)
    by_person = [
        row["content"]
        for row in rows
        if row.get("operation") == "enqueue" and row["content"] not in MACHINE
    ]
    assert sum(text not in found for text in by_person) <= left_out(parsed)
    assert not set(MACHINE) - {"/model opus", "/exit"} & set(found)
    assert parsed.counts.lines == parsed.counts.used + parsed.counts.skipped.total()


@st.composite
def client(draw: st.DrawFn) -> tuple[list[Row], list[str], list[str], int, int]:
    """Return what a client writes whose operations are about the oldest message of the user, or
    about one of its own; and the right prompts, steering, and counts of the rest."""
    rows: list[Row] = []
    waiting: list[str] = []
    prompts: list[str] = []
    steering: list[str] = []
    withdrawn = 0
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["type", "machine", "prompt", "steer", "notice", "pop"]))
        text = f"words {number}"
        if kind == "type":
            rows.append(queued("enqueue", text))
            waiting.append(text)
        elif kind == "machine":
            rows.append(queued("enqueue", draw(st.sampled_from(MACHINE))))
        elif kind == "notice":
            rows += [queued("dequeue"), typed(MACHINE[1])]
        elif kind == "pop":
            rows.append(queued("popAll"))
            withdrawn += len(waiting)
            waiting.clear()
        elif waiting and kind == "prompt":
            prompts.append(waiting.pop(0))
            rows += [queued("dequeue"), typed(prompts[-1])]
        elif waiting:
            steering.append(waiting.pop(0))
            named = draw(st.booleans())
            rows.append(queued("remove", steering[-1] if named else None))
            rows += [attached(steering[-1])] if draw(st.booleans()) else []
    return rows, prompts, steering, withdrawn, len(waiting)


@given(client())
def test_each_message_of_a_client_ends_where_the_client_put_it(
    written: tuple[list[Row], list[str], list[str], int, int],
) -> None:
    rows, prompts, steering, withdrawn, undelivered = written
    parsed = read(rows)
    assert [turn.user_text for turn in parsed.turns[1:]] == prompts
    assert [text for turn in parsed.turns for text in turn.steering] == steering
    assert parsed.counts.skipped[WITHDRAWN] == withdrawn
    assert parsed.counts.skipped[UNDELIVERED] == undelivered


def test_a_task_in_the_queue_does_not_take_the_place_of_what_was_typed() -> None:
    rows = [queued("enqueue", TASK), queued("enqueue", "use tabs"), queued("remove")]
    assert read(rows).turns[0].steering == ["use tabs"]


def test_json_and_slash_commands_that_a_person_wrote_are_steering() -> None:
    texts = ['{"task_id": 7}', '{"price": 2}', "/review the parser", "/models are wrong", "{ what?"]
    rows = [row for text in texts for row in (queued("enqueue", text), queued("remove"))]
    assert read(rows).turns[0].steering == texts


def test_the_queues_of_two_sessions_in_one_archive_are_apart() -> None:
    other = {"sessionId": SESSION.replace("8d", "9d")}
    rows = [
        queued("enqueue", "of the first"),
        typed("Another session") | other,
        queued("enqueue", "of the second", **other),
        queued("remove", **other),
        queued("remove"),
    ]
    first, second = read(rows).turns
    assert (first.steering, second.steering) == (["of the first"], ["of the second"])


TYPED_BESIDE_THE_CLIENT = [
    f"{TASK}\nwhy does our API reject this body?",
    "<bash-completion> for the tool is broken, please fix",
    "Stop hook feedback: is what the message says; why?",
    "This session is being continued from a previous conversation is what I see each time",
]


@pytest.mark.parametrize("text", TYPED_BESIDE_THE_CLIENT)
def test_words_that_only_begin_like_a_text_of_the_client_are_a_prompt_and_steering(
    text: str,
) -> None:
    rows = [typed(text), queued("enqueue", text), queued("remove")]
    [_, turn] = read(rows).turns
    assert (turn.user_text, turn.steering) == (text, [text])


@pytest.mark.parametrize("joined", ["", "\nFull transcript available at: /tmp/tasks/a1.output"])
def test_what_a_person_typed_behind_notifications_in_the_same_row_is_a_prompt(joined: str) -> None:
    notices = f"{MACHINE[1]}{joined}\n{MACHINE[2]}"
    rows = [
        queued("enqueue", MACHINE[1]),
        queued("enqueue", "and the log?"),
        *(queued("dequeue"), queued("dequeue")),
        typed(f"{notices}\n\nand the log?"),
        typed(notices),
    ]
    parsed = read(rows)
    assert [turn.user_text for turn in parsed.turns[1:]] == ["and the log?"]
    assert parsed.counts.skipped[SkipReason.NOTIFICATION] == 2
    assert left_out(parsed) == 0
