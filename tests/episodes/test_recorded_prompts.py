"""A prompt of an agent's history that a transcript of it holds too is a copy of its turn."""

import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from tests import frames
from tests.builders import START, turn
from tests.episodes.test_dedup import built
from turnetl.base import ids
from turnetl.base.model import SessionId, Turn
from turnetl.episodes.partitions import partition
from turnetl.formats import CODEX_HISTORY, PROMPT_HISTORY
from turnetl.lake import Batch

HISTORY = "history.jsonl/project-1a2b3c4d"


def typed(text: str, seconds: float, session: str = "s1", **fields: object) -> Turn:
    """A prompt of the history."""
    native = f"{session}:{seconds}:{text}"
    default = {
        "turn_id": ids.turn_id(turn().group_id, PROMPT_HISTORY, native),
        "format": PROMPT_HISTORY,
        "session_id": SessionId(session),
        "prompt_id": None,
        "user_text": text,
        "assistant_text": "",
        "tool_calls": (),
        "started_at": START + timedelta(seconds=seconds),
        "ended_at": None,
        "archive": HISTORY,
        "chars": len(text),
        "closed": False,
        "closed_by": None,
        "content_hash": native,
    }
    return turn(native, **default | fields)


def recorded(text: str, seconds: float, session: str = "s1", **fields: object) -> Turn:
    """A turn of a transcript."""
    default = {
        "session_id": SessionId(session),
        "user_text": text,
        "started_at": START + timedelta(seconds=seconds),
        "ended_at": START + timedelta(seconds=seconds + 60),
        "archive": f"{session}.jsonl",
        "content_hash": f"{session} {text} {seconds}",
    }
    return turn(f"{session} {text} {seconds}", **default | fields)


def ids_of(table: pl.DataFrame) -> list[str]:
    return table["turn_id"].to_list()


def test_a_prompt_of_a_transcript_is_a_copy_of_its_turn() -> None:
    transcript = recorded("Add a cart", 0)
    table = built(transcript, typed("Add a cart", 0.4))
    assert ids_of(table) == [transcript.turn_id]
    assert table["copies"].to_list() == [1]
    assert table["assistant_text"].to_list() == [transcript.assistant_text]
    assert table["started_at"].to_list() == [transcript.started_at]


def test_a_prompt_without_a_transcript_is_a_turn_without_a_response() -> None:
    prompt = typed("Add a cart with a basket and a voucher", 0, closed=True)
    table = built(prompt)
    assert ids_of(table) == [prompt.turn_id]
    assert table["copies"].to_list() == [0]


def test_when_its_transcript_arrives_the_turn_of_the_transcript_replaces_it() -> None:
    prompt, transcript = typed("Add a cart", 0), recorded("Add a cart", 0)
    assert ids_of(built(prompt)) == [prompt.turn_id]
    assert ids_of(built(prompt, transcript)) == [transcript.turn_id]


def test_the_id_of_a_turn_of_a_transcript_does_not_depend_on_the_history() -> None:
    transcript = recorded("Add a cart", 0)
    assert ids_of(built(transcript)) == ids_of(built(transcript, typed("Add a cart", 0)))


def test_a_prompt_of_codex_is_a_copy_of_the_turn_of_a_rollout_and_of_no_other_agent() -> None:
    rollout = recorded("Add a cart", 0, format="codex")
    prompt = typed("Add a cart", 0.4, format=CODEX_HISTORY)
    assert ids_of(built(rollout, prompt)) == [rollout.turn_id]
    of_claude = recorded("Add a cart", 0)
    assert ids_of(built(of_claude, prompt)) == [of_claude.turn_id, prompt.turn_id]
    assert len(ids_of(built(rollout, typed("Add a cart", 0.4)))) == 2


@pytest.mark.full
@pytest.mark.parametrize("field", ["steering", "user_answers"])
def test_what_was_typed_while_the_agent_worked_is_no_turn(field: str) -> None:
    transcript = replace(recorded("Add a cart", 0), **{field: ("and a basket",)})  # type: ignore[arg-type]
    table = built(transcript, typed("Add a cart", 0), typed("and a basket", 30))
    assert ids_of(table) == [transcript.turn_id]


def test_white_space_does_not_make_another_prompt() -> None:
    transcript = recorded("Add a cart\n\n  and tests", 0)
    assert ids_of(built(transcript, typed("Add a cart and tests", 900))) == [transcript.turn_id]


def test_a_prompt_whose_pasted_text_is_lost_is_recognised_by_its_moment() -> None:
    transcript = recorded("Explain: KeyError", 0)
    prompt = typed("Explain: [Pasted text #1 +9 lines]", 1.5)
    assert ids_of(built(transcript, prompt)) == [transcript.turn_id]


@pytest.mark.parametrize("text", ["fix the tests", ""])
def test_another_prompt_of_the_same_moment_stays_a_turn(text: str) -> None:
    transcript, other = recorded(text, 0), typed("no wait, delete the branch", 1.9)
    assert ids_of(built(transcript, other)) == [transcript.turn_id, other.turn_id]


def test_the_same_text_during_a_turn_of_another_session_stays_a_turn() -> None:
    end = START + timedelta(hours=2)
    transcript, other = recorded("continue", 0, ended_at=end), typed("continue", 3_600, "s2")
    assert ids_of(built(transcript, other)) == [transcript.turn_id, other.turn_id]


def test_what_was_typed_in_an_unnamed_session_during_a_long_turn_is_no_turn() -> None:
    end = START + timedelta(hours=2)
    transcript = recorded("Add a cart", 0, ended_at=end, steering=("and a basket",))
    assert ids_of(built(transcript, typed("and a basket", 3_600, "derived-1"))) == [
        transcript.turn_id
    ]


def test_another_prompt_of_the_session_stays_a_turn() -> None:
    transcript, other = recorded("Add a cart", 0), typed("Remove it again", 600)
    assert ids_of(built(transcript, other)) == [transcript.turn_id, other.turn_id]


def test_the_same_text_in_another_session_and_at_another_time_stays_a_turn() -> None:
    transcript, other = recorded("continue", 0), typed("continue", 3_600, "s2")
    assert ids_of(built(transcript, other)) == [transcript.turn_id, other.turn_id]


def test_without_a_session_the_time_decides() -> None:
    transcript = recorded("Add a cart", 0)
    prompt = typed("Add a cart", 20, "derived-1")
    table = built(transcript, prompt)
    assert ids_of(table) == [transcript.turn_id]
    assert table["session_id"].to_list() == ["s1"]


@pytest.mark.full
def test_each_of_several_equal_prompts_is_a_copy_of_the_nearest() -> None:
    transcripts = [recorded("continue", at) for at in (0, 600, 1_200)]
    prompts = [typed("continue", at + 1) for at in (0, 600, 1_200)]
    table = built(*transcripts, *prompts)
    assert ids_of(table) == [one.turn_id for one in transcripts]
    assert table["copies"].to_list() == [1, 1, 1]
    assert table["variants"].to_list() == [0, 0, 0]


@pytest.mark.full
def test_what_a_transcript_holds_once_replaces_one_prompt_the_nearest() -> None:
    transcript = recorded("continue", 10_800)
    prompts = [typed("continue", at) for at in (0, 3_600, 7_200, 10_801)]
    table = built(transcript, *prompts)
    assert ids_of(table) == [*(one.turn_id for one in prompts[:3]), transcript.turn_id]
    assert table["copies"].sum() == 1


@pytest.mark.full
def test_copies_of_a_transcript_hold_a_prompt_once() -> None:
    transcript = recorded("continue", 0)
    copy = replace(transcript, archive="s1-resumed.jsonl")
    prompts = [typed("continue", at) for at in (1, 3_600)]
    assert ids_of(built(transcript, copy, *prompts)) == [transcript.turn_id, prompts[1].turn_id]


@pytest.mark.full
def test_what_was_typed_twice_while_the_agent_worked_is_no_turn_twice() -> None:
    transcript = replace(recorded("Add a cart", 0), steering=("faster", "faster"))
    prompts = [typed("faster", at) for at in (20, 40)]
    assert ids_of(built(transcript, *prompts)) == [transcript.turn_id]


def test_a_turn_of_a_transcript_without_a_response_is_kept_as_the_transcript_has_it() -> None:
    transcript = recorded("Add a cart", 0, assistant_text="", tool_calls=(), chars=10)
    table = built(transcript, typed("Add a cart", 0, chars=10))
    assert table["archive"].to_list() == [transcript.archive]


def test_a_prompt_without_a_time_is_recognised_in_its_session() -> None:
    transcript = recorded("Add a cart", 0)
    assert ids_of(built(transcript, typed("Add a cart", 0, started_at=None))) == [
        transcript.turn_id
    ]


def test_another_format_with_the_same_text_is_another_turn() -> None:
    other = recorded("Add a cart", 0, format="codex")
    prompt = typed("Add a cart", 0)
    assert set(ids_of(built(other, prompt))) == {other.turn_id, prompt.turn_id}


def test_rows_that_exceed_the_memory_limit_give_the_same_turns() -> None:
    rows = [recorded("Add a cart", 0), typed("Add a cart", 0), typed("Remove it", 900)]
    batches = [Batch(frames.turns(one)) for one in rows]
    parts = partition(batches, (), Path(tempfile.mkdtemp()) / "x", memory_limit=0)
    table = pl.concat(parts)
    assert ids_of(table) == ids_of(built(*rows))
