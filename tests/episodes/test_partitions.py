"""Turns and partitions do not depend on the order or the storage of a group's rows."""

from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import START, tool, turn
from turnetl.base import schema
from turnetl.base.model import Turn
from turnetl.episodes.partitions import partition
from turnetl.lake import Batch
from turnetl.noise import ON_DEMAND, RULES, NoiseRule

LIMITS = pytest.mark.parametrize("memory_limit", [0, 1 << 30], ids=["on disk", "in memory"])
ALL = (*RULES, *ON_DEMAND)


def sample_turns() -> list[Turn]:
    """Forty turns of four sessions, a tenth of them in a second archive as well."""
    turns = []
    for index in range(40):
        session = f"s{index % 4}"
        calls = tuple(tool("Bash", f"make {n}", "ok") for n in range(index % 3))
        prompt = "ok" if index % 5 == 0 else f"prompt {index}"
        single = turn(
            f"p{index}",
            session_id=session,
            ordinal=index // 4,
            started_at=None if index % 7 == 0 else START + timedelta(minutes=index),
            user_text=prompt,
            assistant_text="Sure." if prompt == "ok" else "Done. " * index,
            tool_calls=calls,
            archive=f"{session}.jsonl",
            chars=100 * index,
        )
        turns.append(single)
        if index % 10 == 0:
            turns.append(turn(**{**fields_of(single), "archive": "fork.jsonl"}))
    return turns


def fields_of(of: Turn) -> dict[str, Any]:
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
    return [
        Batch(frames.turns(*turns[start : start + size])) for start in range(0, len(turns), size)
    ]


def partitions_of(
    turns: list[Turn],
    folder: Path,
    *,
    memory_limit: int = 1 << 30,
    max_chars: int = 10_000,
    batch: int = 7,
) -> list[pl.DataFrame]:
    return list(
        partition(
            batches(turns, batch), ALL, folder, max_chars=max_chars, memory_limit=memory_limit
        )
    )


@pytest.mark.full
@LIMITS
def test_partitions_do_not_depend_on_the_order_of_the_rows(
    tmp_path: Path, memory_limit: int
) -> None:
    turns = sample_turns()
    expected = partitions_of(turns, tmp_path)
    assert len(expected) > 3
    for seed in range(5):
        Random(seed).shuffle(turns)
        found = partitions_of(turns, tmp_path, memory_limit=memory_limit, batch=seed + 1)
        assert [rows.rows() for rows in found] == [rows.rows() for rows in expected]


@pytest.mark.full
@LIMITS
def test_the_size_of_partitions_changes_no_turn(tmp_path: Path, memory_limit: int) -> None:
    whole = pl.concat(partitions_of(sample_turns(), tmp_path, max_chars=1 << 30))
    for max_chars in (1, 5_000, 20_000):
        assert pl.concat(
            partitions_of(sample_turns(), tmp_path, max_chars=max_chars, memory_limit=memory_limit)
        ).equals(whole)


def test_the_columns_are_those_of_turns_with_copies_variants_and_noise(tmp_path: Path) -> None:
    columns = [*schema.TURNS.polars.names(), "copies", "variants", "noise"]
    for limit in (0, 1 << 30):
        assert {
            tuple(rows.columns)
            for rows in partitions_of(sample_turns(), tmp_path, memory_limit=limit)
        } == {tuple(columns)}


def test_a_partition_exceeds_its_limit_only_for_a_single_larger_turn(tmp_path: Path) -> None:
    turns = [
        turn("huge", chars=1_000_000, started_at=START + timedelta(minutes=9)),
        *sample_turns(),
    ]
    for rows in partitions_of(turns, tmp_path, max_chars=20_000):
        assert rows["chars"][:-1].sum() <= 20_000


def test_every_turn_is_in_one_partition(tmp_path: Path) -> None:
    found = pl.concat(partitions_of(sample_turns(), tmp_path, memory_limit=0, max_chars=1))
    assert found.height == found["turn_id"].n_unique() == 40
    assert found["copies"].sum() == 4


def test_no_turns_give_no_partitions(tmp_path: Path) -> None:
    assert partitions_of([], tmp_path) == []
    assert list(partition([Batch(frames.turns())], RULES, tmp_path, memory_limit=0)) == []


def test_spilled_rows_are_deleted_also_if_the_generator_is_closed_early(tmp_path: Path) -> None:
    partitions_of(sample_turns(), tmp_path, memory_limit=0)
    assert list(tmp_path.iterdir()) == []
    unread = partition(batches(sample_turns(), 7), ALL, tmp_path, max_chars=10_000, memory_limit=0)
    next(unread)
    (spilled,) = tmp_path.glob(".*.rows")
    assert list(spilled.iterdir())
    unread.close()
    assert list(tmp_path.iterdir()) == []


@LIMITS
def test_a_users_rule_reads_the_content_of_tool_calls(tmp_path: Path, memory_limit: int) -> None:
    called = (
        pl.col("tool_calls").list.eval(pl.element().struct.field("input") == "make 1").list.any()
    )
    rule = NoiseRule("made", 1, "For this test.", called, definition="tools: make 1")
    rows = partition(batches(sample_turns(), 7), [rule], tmp_path, memory_limit=memory_limit)
    found = pl.concat(rows).filter(pl.col("noise") == "made")
    expected = [
        turn for turn in sample_turns() if "make 1" in [call.input for call in turn.tool_calls]
    ]
    assert set(found["turn_id"]) == {turn.turn_id for turn in expected} != set()


def test_no_built_in_rule_reads_the_content_of_tool_calls(tmp_path: Path) -> None:
    """For large groups they get only the number of calls."""
    as_user_rules = tuple(
        NoiseRule(
            rule.name,
            rule.version,
            rule.description,
            rule.condition,
            definition="as if of the user",
        )
        for rule in ALL
    )
    rows = batches(sample_turns(), 7)
    marks = [
        pl.concat(partition(rows, rules, tmp_path))["noise"].to_list()
        for rules in (ALL, as_user_rules)
    ]
    assert marks[0] == marks[1]
    assert len({*marks[0]}) > 2
