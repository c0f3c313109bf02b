"""Estimates are found by their turns and by their run, and do not fill the lake."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import START
from turnetl.base.model import TurnId
from turnetl.ingestion import estimate_record
from turnetl.ingestion.estimate_record import (
    FOLDER,
    KEPT,
    EstimateMethod,
    Range,
    RecordedEstimate,
    workload_id,
)


def estimate(*turns: str) -> RecordedEstimate:
    amount = Range(1, 2, 3)
    workload = workload_id([TurnId(turn) for turn in turns], "llm", "canned")
    return RecordedEstimate(
        workload, START, EstimateMethod.PILOT, len(turns), amount, amount, None, None
    )


def assigned(lake: Path, run: str, *groups: str) -> RecordedEstimate | None:
    """Assign the estimate of groups, whose turns have names of one letter."""
    return assign(lake, run, *([*group] for group in groups))


def assign(lake: Path, run: str, *groups: list[str]) -> RecordedEstimate | None:
    turns = [[TurnId(turn) for turn in group] for group in groups]
    return estimate_record.assign(lake, turns, run, extractor="llm", model="canned")


def test_the_run_of_the_same_turns_has_the_estimate(tmp_path: Path) -> None:
    planned = estimate("a", "b")
    estimate_record.save(tmp_path, planned)
    assert assigned(tmp_path, "run-1", "a") is None
    assert assigned(tmp_path, "run-2", "ba") == planned
    assert estimate_record.of_run(tmp_path, "run-2") == planned
    assert estimate_record.of_run(tmp_path, "run-1") is None


def test_a_run_of_some_groups_has_the_sum_of_their_estimates(tmp_path: Path) -> None:
    parts = [estimate("a", "b"), estimate("c"), estimate("d")]
    estimate_record.save(tmp_path, estimate(*"abcd"), parts)
    assert assigned(tmp_path, "run-1", "ab", "c", "d") == estimate(*"abcd")
    assert assigned(tmp_path, "run-2", "c") == parts[1]
    some = assigned(tmp_path, "run-3", "ab", "d")
    assert some is not None
    assert (some.workload, some.turns) == (estimate(*"abd").workload, 3)
    assert (some.requests, some.cost) == (Range(2, 4, 6), None)
    assert estimate_record.of_run(tmp_path, "run-3") == some
    assert assigned(tmp_path, "run-4", "ab", "ce") is None
    assert estimate_record.of_run(tmp_path, "run-4") is None


def test_parts_that_were_estimated_in_different_ways_have_no_sum(tmp_path: Path) -> None:
    estimate_record.save(tmp_path, estimate("a"))
    other = replace(estimate("b"), method=EstimateMethod.HISTORY)
    estimate_record.save(tmp_path, other)
    assert assigned(tmp_path, "run", "a", "b") is None


@pytest.mark.full
def test_the_lake_keeps_the_last_estimates_only(tmp_path: Path) -> None:
    for number in range(KEPT + 20):
        estimate_record.save(tmp_path, estimate(str(number)))
        file = tmp_path / FOLDER / f"{estimate(str(number)).workload}.json"
        os.utime(file, ns=(number, number))
    assign(tmp_path, "last", [str(KEPT)])
    assert len(list((tmp_path / FOLDER).iterdir())) == KEPT
    assert estimate_record.of_run(tmp_path, "last") is not None
    for number, is_kept in ((0, False), (20, False), (21, True), (KEPT + 19, True)):
        found = assign(tmp_path, "probe", [str(number)])
        assert (found is not None) == is_kept, number
