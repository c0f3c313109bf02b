"""Estimates are found by their turns and by their run, and do not fill the lake."""

import os
from pathlib import Path

from tests.builders import START
from turnetl.ingestion import estimate_record
from turnetl.ingestion.estimate_record import (
    FOLDER,
    KEPT,
    EstimateMethod,
    Range,
    RecordedEstimate,
    workload_id,
)
from turnetl.model import TurnId


def estimate(*turns: str) -> RecordedEstimate:
    amount = Range(1, 2, 3)
    workload = workload_id([TurnId(turn) for turn in turns], "llm", "canned")
    return RecordedEstimate(
        workload, START, EstimateMethod.PILOT, len(turns), amount, amount, None, None
    )


def test_the_run_of_the_same_turns_has_the_estimate(tmp_path: Path) -> None:
    planned = estimate("a", "b")
    estimate_record.save(tmp_path, planned)
    assert estimate_record.assign(tmp_path, estimate("a").workload, "run-1") is None
    assert estimate_record.assign(tmp_path, estimate("b", "a").workload, "run-2") == planned
    assert estimate_record.of_run(tmp_path, "run-2") == planned
    assert estimate_record.of_run(tmp_path, "run-1") is None


def test_the_lake_keeps_the_last_estimates_only(tmp_path: Path) -> None:
    for number in range(KEPT + 20):
        estimate_record.save(tmp_path, estimate(str(number)))
        file = tmp_path / FOLDER / f"{estimate(str(number)).workload}.json"
        os.utime(file, ns=(number, number))
    estimate_record.assign(tmp_path, estimate(str(KEPT)).workload, "last")
    assert len(list((tmp_path / FOLDER).iterdir())) == KEPT
    assert estimate_record.of_run(tmp_path, "last") is not None
    for number, is_kept in ((0, False), (20, False), (21, True), (KEPT + 19, True)):
        found = estimate_record.assign(tmp_path, estimate(str(number)).workload, "probe")
        assert (found is not None) == is_kept, number
