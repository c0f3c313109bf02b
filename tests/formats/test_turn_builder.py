"""The turn builder: every format opens, extends and closes its turns with it."""

from datetime import UTC, datetime, timedelta

from turnetl.base.model import ClosedBy
from turnetl.formats.kit.turn_builder import (
    TurnBuilder,
    close_by_prompt,
    extend,
)
from turnetl.formats.kit.usage import AnthropicUsage, MessageTokens, Tokens, add_message
from turnetl.formats.port import RawToolCall, SourceSpan

NINE = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PROMPT = SourceSpan(3, 4, 100, 250)


def test_a_prompt_opens_a_turn_with_its_span_and_closes_the_previous_one() -> None:
    builder = TurnBuilder()
    first = builder.open("Mend the cart.", PROMPT, NINE, session="s", native_id="u1")
    second = builder.open("Push it.", SourceSpan(5, 5, 251, 300), previous=first)
    assert (first.first_line, first.last_line, first.first_byte, first.last_byte) == (
        3,
        4,
        100,
        250,
    )
    assert (first.started_at, first.session_id, first.native_id) == (NINE, "s", "u1")
    assert (first.closed_by, second.closed_by) == (ClosedBy.NEXT_PROMPT, None)
    assert (first.ordinal, second.ordinal, builder.current) == (0, 1, second)


def test_an_interrupted_turn_stays_interrupted_at_the_next_prompt() -> None:
    turn = TurnBuilder().open("Mend the cart.", PROMPT)
    turn.closed_by = ClosedBy.INTERRUPTED
    close_by_prompt(turn)
    assert turn.closed_by is ClosedBy.INTERRUPTED


def test_a_row_extends_a_turn_but_never_shortens_it() -> None:
    turn = TurnBuilder().open("Mend the cart.", PROMPT, NINE)
    extend(turn, SourceSpan(6, 7, 300, 400), NINE + timedelta(seconds=5))
    extend(turn, SourceSpan(1, 2, 0, 90))
    assert (turn.last_line, turn.last_byte) == (7, 400)
    assert turn.ended_at == NINE + timedelta(seconds=5)


def test_calls_steering_and_answers_are_added_and_counted() -> None:
    builder = TurnBuilder()
    turn = builder.open("Mend the cart.", PROMPT)
    call = RawToolCall("Bash", "pytest -q")
    builder.add_call(turn, call, 9, "t1")
    builder.add_steering(turn, ["use git mv"])
    builder.add_answer(turn, "in cents")
    builder.add_answer(turn, None)
    assert builder.calls == {"t1": call}
    assert (turn.tool_calls, turn.input_chars) == ([call], 9)
    assert (turn.steering, turn.user_answers) == (["use git mv"], ["in cents"])
    counts = builder.counts
    assert (counts.tool_calls, counts.steering, counts.user_answers) == (1, 1, 1)


def test_content_before_the_first_prompt_is_counted_only() -> None:
    builder = TurnBuilder()
    builder.add_steering(None, ["use git mv"])
    builder.add_answer(None, "in cents")
    assert (builder.counts.steering, builder.counts.user_answers) == (1, 1)
    assert builder.current is None


def test_the_usage_of_a_repeated_message_is_its_largest() -> None:
    turn = TurnBuilder().open("Mend the cart.", PROMPT)
    for read, written in ((10, 1), (10, 40), (None, None), (9, None)):
        usage = AnthropicUsage(read, cache_read_input_tokens=read, output_tokens=written)
        add_message(turn.usage, "msg_1", MessageTokens(usage))
    assert turn.usage["msg_1"].tokens() == Tokens(10, None, 10, 40, None)


def test_only_a_text_is_a_subagents_prompt() -> None:
    builder = TurnBuilder()
    turn = builder.open("Mend the cart.", PROMPT)
    for prompt in ("Read cart.py.", None, 7):
        builder.add_start(turn, prompt, None)
    assert turn.subagent_prompts == ["Read cart.py."]


def test_finishing_assigns_missing_ids_and_counts_the_turns() -> None:
    builder = TurnBuilder()
    builder.open("Mend the cart.", PROMPT)
    builder.open("Push it.", PROMPT, session="other", native_id="u2")
    parsed = builder.finish("s", "/home/dev/shop")
    assert [turn.native_id for turn in parsed.turns] == ["s:0", "u2"]
    assert [turn.session_id for turn in parsed.turns] == ["s", "other"]
    assert (parsed.counts.turns, parsed.cwd) == (2, "/home/dev/shop")
