"""The queue of Claude Code: every typed text is in a turn, or counted under a reason."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.reason import SkipReason
from turnetl.formats.claude import ClaudeCode
from turnetl.formats.port import ParsedArchive

ARCHIVES = Path(__file__).parents[1] / "archives" / "claude_code"
TASK = '{"task_id":"b1","tool_use_id":"t1","description":"Run the tests","task_type":"local_bash"}'
MACHINE = (
    TASK,
    '{"task_type": "local_agent", "task_id": "a2"}',
    "<agent-notification>\n<agent-id>a34</agent-id>\n</agent-notification>",
    "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
    "/model opus",
    "/exit",
)
TYPED = ("commit each step", "use tabs", "/review the cart", '{"task": "no"}', "stop <b>now</b>")

Row = dict[str, Any]


def queued(operation: str, text: str | None = None, **more: Any) -> Row:
    content = {} if text is None else {"content": text}
    return {"type": "queue-operation", "sessionId": "s", "operation": operation} | content | more


def prompt(text: str) -> Row:
    return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}}


def attached(text: str, **more: Any) -> Row:
    attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": text} | more
    return {"type": "attachment", "sessionId": "s", "attachment": attachment}


def notified() -> Row:
    return prompt("<task-notification>\n<task-id>b1</task-id>\n</task-notification>")


def answer(text: str) -> Row:
    return {"type": "assistant", "sessionId": "s", "message": {"id": f"m-{text}", "content": text}}


def read(*rows: Row) -> ParsedArchive:
    """Read rows after a first prompt; each message has an id and each operation a time."""
    numbered = [
        row
        | ({} if row["type"] == "queue-operation" and "uuid" in row else {"uuid": f"u{number}"})
        | {"timestamp": f"2026-09-10T10:{number // 60:02}:{number % 60:02}Z"}
        for number, row in enumerate([prompt("Begin."), *rows])
    ]
    return ClaudeCode().read("\n".join(map(json.dumps, numbered)).encode())


def texts_in_tables(parsed: ParsedArchive) -> Counter[str]:
    texts: Counter[str] = Counter()
    for turn in parsed.turns:
        texts.update((turn.user_text, *turn.steering))
    return texts


def steering(parsed: ParsedArchive) -> list[list[str]]:
    return [turn.steering for turn in parsed.turns]


def counted(parsed: ParsedArchive) -> tuple[int, int]:
    skipped = parsed.counts.skipped
    return skipped[SkipReason.WITHDRAWN], skipped[SkipReason.UNDELIVERED]


OPERATION = st.one_of(
    st.sampled_from(TYPED + MACHINE).map(lambda text: queued("enqueue", text)),
    st.sampled_from(["dequeue", "remove", "popAll"]).map(queued),
    st.sampled_from(TYPED + MACHINE).map(lambda text: queued("remove", text)),
    st.sampled_from(TYPED).map(
        lambda text: queued("remove", text, reason="absorbed_mid_turn", commandUuid=f"c-{text}")
    ),
    st.sampled_from(TYPED).map(lambda text: queued("remove", text, reason="withdrawn")),
    st.sampled_from(TYPED).map(lambda text: queued("dequeue", text)),
    st.just(queued("dequeue", reason="absorbed_mid_turn")),
    st.sampled_from((*TYPED, "another prompt")).map(prompt),
    st.sampled_from(TYPED + MACHINE).map(attached),
    st.sampled_from(TYPED).map(lambda text: attached(text, source_uuid=f"c-{text}")),
    st.just(notified()),
    st.just(answer("On it.")),
)


@given(st.lists(OPERATION, max_size=14))
def test_a_typed_text_is_in_a_turn_or_counted_under_a_reason(rows: list[Row]) -> None:
    parsed = read(*rows)
    counts, found = parsed.counts, texts_in_tables(parsed)
    enqueued = Counter(row["content"] for row in rows if row.get("operation") == "enqueue")
    missing = sum(max(0, enqueued[text] - found[text]) for text in TYPED)
    assert missing <= sum(counted(parsed))
    assert counts.lines == counts.used + sum(counts.skipped.values())
    assert min(counts.skipped.values(), default=0) >= 0


@given(st.lists(OPERATION, max_size=14))
def test_a_text_that_was_delivered_by_any_row_is_in_a_turn(rows: list[Row]) -> None:
    found = texts_in_tables(read(*rows))
    for row in rows:
        text = row.get("content") if row.get("reason") in (None, "absorbed_mid_turn") else None
        if row.get("operation") == "remove" and text in TYPED:
            assert found[text]
        if row["type"] == "attachment" and row["attachment"]["prompt"] in TYPED:
            assert found[row["attachment"]["prompt"]]


@given(st.lists(OPERATION, max_size=14))
def test_machine_text_is_never_steering(rows: list[Row]) -> None:
    parsed = read(*rows)
    assert not set(MACHINE) & set(texts_in_tables(parsed))
    assert parsed.counts.steering == sum(map(len, steering(parsed)))


@given(st.lists(st.sampled_from(MACHINE), max_size=4), st.data())
def test_machine_text_in_the_queue_changes_no_delivery(noise: list[str], data: Any) -> None:
    rows = [
        queued("enqueue", "one"),
        queued("enqueue", "two"),
        queued("remove"),
        queued("enqueue", "three"),
        queued("dequeue"),
        prompt("two"),
        queued("popAll"),
    ]
    for text in noise:
        rows.insert(data.draw(st.integers(0, len(rows))), queued("enqueue", text))
    parsed = read(*rows)
    assert [turn.user_text for turn in parsed.turns] == ["Begin.", "two"]
    assert steering(parsed) == [["one"], []]
    assert counted(parsed) == (1, 0)


def test_an_unnamed_removal_delivers_what_was_typed_and_not_a_background_task() -> None:
    parsed = read(queued("enqueue", TASK), queued("enqueue", "use tabs"), queued("remove"))
    assert steering(parsed) == [["use tabs"]]
    assert parsed.counts.skipped == {SkipReason.NOTIFICATION: 1, SkipReason.QUEUE: 1}


@pytest.mark.parametrize("text", MACHINE[:4])
def test_a_message_of_the_client_opens_no_turn(text: str) -> None:
    parsed = read(queued("enqueue", text), queued("dequeue"), prompt(text), answer("Noted."))
    assert [turn.user_text for turn in parsed.turns] == ["Begin."]
    assert parsed.turns[0].assistant_texts == ["Noted."]


def test_a_dequeued_notification_leaves_the_typed_text_in_the_queue() -> None:
    note = queued("enqueue", MACHINE[3])
    parsed = read(
        note, queued("enqueue", "use tabs"), queued("dequeue"), notified(), queued("remove")
    )
    assert steering(parsed) == [["use tabs"]]


def test_a_text_removed_before_the_notification_that_was_dequeued_is_steering() -> None:
    note = queued("enqueue", MACHINE[3])
    rows = (note, queued("enqueue", "use tabs"), queued("dequeue"), queued("remove"), notified())
    assert steering(read(*rows)) == [["use tabs"]]
    assert steering(read(*rows[:-1])) == [["use tabs"]]
    returned = read(*rows[:-1], prompt("use tabs"))
    assert steering(returned) == [[], []]


def test_text_left_in_the_queue_is_undelivered_and_popped_text_is_withdrawn() -> None:
    left = read(queued("enqueue", "use tabs"), queued("enqueue", "use spaces"), queued("remove"))
    assert (steering(left), counted(left)) == ([["use tabs"]], (0, 1))
    popped = read(queued("enqueue", "use tabs"), queued("popAll"), prompt("use two tabs"))
    assert (steering(popped), counted(popped)) == ([[], []], (1, 0))


def test_a_dequeued_text_whose_prompt_never_comes_is_undelivered() -> None:
    parsed = read(queued("enqueue", "use tabs"), queued("dequeue"), prompt("something else"))
    assert (steering(parsed), counted(parsed)) == ([[], []], (0, 1))


def test_a_removal_may_name_a_text_that_was_never_queued() -> None:
    parsed = read(queued("enqueue", "use tabs"), queued("remove", "use spaces"), queued("remove"))
    assert steering(parsed) == [["use spaces", "use tabs"]]


def test_prompts_that_were_queued_and_sent_together_are_one_turn() -> None:
    rows = [queued("enqueue", text) for text in ("use tabs", "run the tests")]
    dequeued = [queued("dequeue"), queued("dequeue")]
    parsed = read(*rows, *dequeued, prompt("use tabs\nrun the tests"))
    assert (parsed.counts.turns, counted(parsed)) == (2, (0, 0))


def test_a_pasted_text_takes_the_place_of_its_placeholder() -> None:
    placeholder, pasted = "count [Pasted text #1 +2 lines]", "count shelf one\nshelf two"
    for removed in (queued("remove", commandUuid="c1"), queued("remove")):
        enqueued = queued("enqueue", placeholder)
        echo = attached(pasted, source_uuid="c1")
        for rows in ((enqueued, removed, echo), (enqueued, echo, removed)):
            parsed = read(*rows)
            assert (steering(parsed), parsed.counts.steering) == ([[pasted]], 1)
    sent = read(queued("enqueue", placeholder), queued("dequeue"), prompt(pasted))
    assert counted(sent) == (0, 0)


def test_operations_that_are_written_again_deliver_nothing_again() -> None:
    rows = [queued("enqueue", "use tabs"), queued("remove")]
    timed = [row | {"timestamp": f"2026-09-10T11:00:0{n}Z"} for n, row in enumerate(rows)]
    first = json.dumps(prompt("Begin.") | {"uuid": "u0"})
    lines = [first, *map(json.dumps, timed), first, *map(json.dumps, timed)]
    parsed = ClaudeCode().read("\n".join(lines).encode())
    assert steering(parsed) == [["use tabs"]]
    assert parsed.counts.skipped == {SkipReason.QUEUE: 1, SkipReason.DUPLICATE: 3}


def test_background_tasks_in_a_sample_are_no_steering() -> None:
    parsed = ClaudeCode().read((ARCHIVES / "queue_tasks.jsonl").read_bytes())
    assert [(turn.user_text, turn.steering) for turn in parsed.turns] == [
        ("Build the shop.", ["small commits, please", "and a changelog"]),
        ("Now the prices.", []),
    ]
    assert parsed.counts.skipped == {
        SkipReason.NOTIFICATION: 5,
        SkipReason.LOCAL_COMMAND: 1,
        SkipReason.QUEUE: 5,
        SkipReason.WITHDRAWN: 1,
        SkipReason.UNDELIVERED: 1,
    }
