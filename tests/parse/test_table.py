"""Rows of several archives that are built together, and rows of each that is built alone."""

import string
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.model import ClosedBy, GroupId, SessionId
from turnetl.formats.kit.usage import MessageTokens, OpenAIUsage
from turnetl.formats.port import RawToolCall, RawTurn
from turnetl.lake.parquet_writer import UNIFORM_BYTES, encode_table, encode_with_pyarrow
from turnetl.parsing.redaction import RedactedTurns
from turnetl.parsing.table import ArchiveTurns, build_rows

TEXTS = st.text(string.ascii_letters + " \n\tßé漢😀", max_size=30)
NAMES = st.none() | TEXTS
TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
NUMBERS = st.integers(0, 2**31 - 1)
CALLS = st.builds(
    RawToolCall, name=TEXTS, input=TEXTS, result=TEXTS, is_error=st.booleans(), ended_at=TIMES
)
COUNTS = st.none() | NUMBERS
USED = st.builds(
    MessageTokens, st.builds(OpenAIUsage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS), NAMES, TIMES
)
TURNS = st.builds(
    RawTurn,
    native_id=TEXTS,
    session_id=TEXTS.map(SessionId),
    ordinal=NUMBERS,
    user_text=TEXTS,
    first_line=NUMBERS,
    last_line=NUMBERS,
    first_byte=NUMBERS,
    last_byte=NUMBERS,
    prompt_id=NAMES,
    started_at=TIMES,
    ended_at=TIMES,
    assistant_texts=st.lists(TEXTS, max_size=3),
    steering=st.lists(TEXTS, max_size=2),
    user_answers=st.lists(TEXTS, max_size=2),
    tool_calls=st.lists(CALLS, max_size=3),
    subagent_prompts=st.lists(TEXTS, max_size=2),
    model=NAMES,
    cwd=NAMES,
    git_branch=NAMES,
    usage=st.dictionaries(TEXTS, USED, max_size=2),
    closed_by=st.none() | st.sampled_from(ClosedBy),
)


@pytest.mark.full
@given(st.lists(st.tuples(st.lists(TURNS, max_size=4), TEXTS, TEXTS), max_size=5))
def test_the_rows_of_an_archive_are_the_same_whatever_archives_are_built_with_it(
    archives: list[tuple[list[RawTurn], str, str]],
) -> None:
    given = [archive_of(*archive) for archive in archives]

    together = build_rows(given)

    alone = [rows for archive in given for rows in build_rows([archive])]
    assert [rows.to_pylist() for rows in together] == [rows.to_pylist() for rows in alone]
    assert [bytes(encode_table(rows, "")) for rows in together] == [
        bytes(encode_table(rows, "")) for rows in alone
    ]


@pytest.mark.full
@pytest.mark.parametrize("chars", [UNIFORM_BYTES // 2, UNIFORM_BYTES, 2 * UNIFORM_BYTES])
def test_a_large_archive_beside_a_small_one_does_not_change_how_the_small_one_is_encoded(
    chars: int,
) -> None:
    small, large = archive_of([turn("Fix it.")], "a", "x"), archive_of([turn("b" * chars)], "b", "")

    together = build_rows([small, large])

    for rows, archive in zip(together, (small, large), strict=True):
        (alone,) = build_rows([archive])
        assert bytes(encode_table(rows, "")) == bytes(encode_table(alone, ""))
        assert bytes(encode_with_pyarrow(rows, "")) == bytes(encode_with_pyarrow(alone, ""))


def test_an_archive_with_more_turns_than_a_batch_keeps_them_all_in_order() -> None:
    many = archive_of([turn(f"prompt {number}") for number in range(2500)], "a", "x")
    few = archive_of([turn("only one")], "b", "y")

    before, rows, after = build_rows([few, many, few])

    assert rows["user_text"].to_pylist() == [f"prompt {number}" for number in range(2500)]
    assert before.equals(after)


def archive_of(turns: list[RawTurn], group: str, path: str) -> ArchiveTurns:
    chars = [one.chars for one in turns]
    redacted = RedactedTurns(turns, chars, [0] * len(turns), None, path)
    return ArchiveTurns(redacted, "claude_code", GroupId(group))


def turn(text: str) -> RawTurn:
    return RawTurn("id", SessionId("session"), 0, text, 1, 2, 0, 100)
