"""However the rows of a group come and wait, the turns are the same, in the same slices."""

from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import START, tool, turn
from turnetl import schema
from turnetl.episodes.partitions import partition
from turnetl.lake import Batch
from turnetl.model import Turn
from turnetl.noise import ON_DEMAND, RULES, NoiseRule

ROOMS = pytest.mark.parametrize("room", [0, 1 << 30], ids=["on disk", "in memory"])
ALL = (*RULES, *ON_DEMAND)


def some_turns() -> list[Turn]:
    """Forty turns of four sessions, a tenth of them in a second archive too."""
    made = []
    for at in range(40):
        session = f"s{at % 4}"
        calls = tuple(tool("Bash", f"make {n}", "ok") for n in range(at % 3))
        said = "ok" if at % 5 == 0 else f"prompt {at}"
        one = turn(
            f"p{at}",
            session_id=session,
            ordinal=at // 4,
            started_at=None if at % 7 == 0 else START + timedelta(minutes=at),
            user_text=said,
            assistant_text="Sure." if said == "ok" else "Done. " * at,
            tool_calls=calls,
            archive=f"{session}.jsonl",
            chars=100 * at,
        )
        made.append(one)
        if at % 10 == 0:
            made.append(turn(**{**vars_of(one), "archive": "fork.jsonl"}))
    return made


def vars_of(of: Turn) -> dict[str, Any]:
    names = [
        "session_id",
        "ordinal",
        "started_at",
        "user_text",
        "assistant_text",
        "tool_calls",
        "chars",
    ]
    return {"native": of.prompt_id, **{name: getattr(of, name) for name in names}}


def batches(turns: list[Turn], size: int) -> list[Batch]:
    return [Batch(frames.turns(*turns[at : at + size])) for at in range(0, len(turns), size)]


def slices(
    turns: list[Turn], folder: Path, *, room: int = 1 << 30, size: int = 10_000, batch: int = 7
) -> list[pl.DataFrame]:
    return list(partition(batches(turns, batch), ALL, folder, size=size, room=room))


@ROOMS
def test_slices_are_the_same_however_the_rows_come(tmp_path: Path, room: int) -> None:
    turns = some_turns()
    expected = slices(turns, tmp_path)
    assert len(expected) > 3
    for seed in range(5):
        Random(seed).shuffle(turns)  # noqa: S311 - any order will do
        found = slices(turns, tmp_path, room=room, batch=seed + 1)
        assert [one.rows() for one in found] == [one.rows() for one in expected]


@ROOMS
def test_the_size_of_slices_changes_no_turn(tmp_path: Path, room: int) -> None:
    whole = pl.concat(slices(some_turns(), tmp_path, size=1 << 30))
    for size in (1, 5_000, 20_000):
        assert pl.concat(slices(some_turns(), tmp_path, size=size, room=room)).equals(whole)


def test_the_columns_are_those_of_turns_with_copies_and_noise(tmp_path: Path) -> None:
    columns = [*schema.TURNS.polars.names(), "copies", "noise"]
    for room in (0, 1 << 30):
        assert {tuple(one.columns) for one in slices(some_turns(), tmp_path, room=room)} == {
            tuple(columns)
        }


def test_a_slice_holds_no_more_than_it_may_but_for_a_turn_that_is_larger(tmp_path: Path) -> None:
    turns = [turn("huge", chars=1_000_000, started_at=START + timedelta(minutes=9)), *some_turns()]
    for one in slices(turns, tmp_path, size=20_000):
        assert one["chars"][:-1].sum() <= 20_000


def test_every_turn_stands_in_one_slice(tmp_path: Path) -> None:
    found = pl.concat(slices(some_turns(), tmp_path, room=0, size=1))
    assert found.height == found["turn_id"].n_unique() == 40
    assert found["copies"].sum() == 4


def test_no_turns_give_no_slices(tmp_path: Path) -> None:
    assert slices([], tmp_path) == []
    assert list(partition([Batch(frames.turns())], RULES, tmp_path, room=0)) == []


def test_what_waited_on_disk_is_gone_afterwards_also_if_nobody_reads_on(tmp_path: Path) -> None:
    slices(some_turns(), tmp_path, room=0)
    assert list(tmp_path.iterdir()) == []
    left = partition(batches(some_turns(), 7), ALL, tmp_path, size=10_000, room=0)
    next(left)
    assert len(list(tmp_path.iterdir())) == 1
    left.close()
    assert list(tmp_path.iterdir()) == []


@ROOMS
def test_a_rule_of_a_persons_own_sees_what_was_called(tmp_path: Path, room: int) -> None:
    called = (
        pl.col("tool_calls").list.eval(pl.element().struct.field("input") == "make 1").list.any()
    )
    rule = NoiseRule("made", 1, "For this test.", called, definition="tools: make 1")
    rows = partition(batches(some_turns(), 7), [rule], tmp_path, room=room)
    found = pl.concat(rows).filter(pl.col("noise") == "made")
    expected = [of for of in some_turns() if "make 1" in [call.input for call in of.tool_calls]]
    assert set(found["turn_id"]) == {of.turn_id for of in expected} != set()


def test_no_built_in_rule_looks_into_calls(tmp_path: Path) -> None:
    """Of large groups they are told only how many there are."""
    looking = tuple(
        NoiseRule(rule.name, rule.version, rule.why, rule.condition, definition="as if one's own")
        for rule in ALL
    )
    rows = batches(some_turns(), 7)
    marks = [
        pl.concat(partition(rows, rules, tmp_path))["noise"].to_list() for rules in (ALL, looking)
    ]
    assert marks[0] == marks[1]
    assert len({*marks[0]}) > 2
