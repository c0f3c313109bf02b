"""`turnetl summarize`: what it writes, what it leaves alone, and that it can be repeated."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.cli.command import run_in_process
from tests.cli.summarize_runs import (
    BURSTS,
    FIRST_TURNS,
    OTHER,
    UNFLUSHED,
    backfill,
    contents,
    embedded,
    lease_elsewhere,
    summaries,
    summarize,
    unflushed_graph,
)
from tests.conftest import GRAPHS
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import GroupId
from turnetl.ingestion.summarize_report import ALIKE
from turnetl.summaries.records import EntityRecord, decode


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest, unflushed_samples: Path, tmp_path: Path) -> str:
    return unflushed_graph(request, unflushed_samples, tmp_path)


def decisions(groups: Sequence[GroupContents]) -> list[list[EntityRecord]]:
    """Return what each turn recorded, without what was written to deferred summaries later."""
    records = [decode(text) for group in groups for text in group.summaries.values()]
    return [[one for one in of_turn if one.flushed is None] for of_turn in records]


@pytest.mark.full
def test_it_writes_what_a_dry_run_counts_and_the_end_of_a_run_writes_and_no_second_time(
    graph: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flushed = tmp_path_factory.mktemp("flushed")
    backfill(flushed, *FIRST_TURNS, **BURSTS)
    expected, before = summaries(contents(embedded(flushed))), summaries(contents(graph))
    unwritten = contents(graph)
    preview = summarize(tmp_path, graph, "--dry-run", "--json")
    assert preview.exit_code == 0
    assert contents(graph) == unwritten
    counted = [group["to_write"] for group in preview.json["groups"]]
    assert [group["written"] for group in preview.json["groups"]] == [0, 0]
    first = summarize(tmp_path, graph, "--json")
    assert first.exit_code == 0
    assert [group["written"] for group in first.json["groups"]] == counted
    assert summaries(contents(graph)) == expected
    differing = sum(before[uuid] != expected[uuid] for uuid in expected)
    assert sum(group["written"] for group in first.json["groups"]) >= differing > 0
    assert all(group["written"] == group["to_write"] for group in first.json["groups"])
    after = contents(graph)
    second = summarize(tmp_path, graph, "--json")
    assert [(group["to_write"], group["recorded"]) for group in second.json["groups"]] == [
        (0, True),
        (0, True),
    ]
    assert contents(graph) == after


@pytest.mark.full
def test_later_turns_decide_as_if_nothing_had_been_written(
    graph: str, unflushed_samples: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    without = tmp_path_factory.mktemp("without")
    shutil.copytree(unflushed_samples, without, dirs_exist_ok=True)
    backfill(without, **UNFLUSHED)
    assert summarize(tmp_path, graph).exit_code == 0
    backfill(tmp_path, "--graph", graph, **UNFLUSHED)
    expected = decisions(contents(embedded(without)))
    assert len(expected) > len(decisions(contents(embedded(unflushed_samples))))
    assert decisions(contents(graph)) == expected


@pytest.mark.full
def test_only_the_groups_that_are_named_are_written(graph: str, tmp_path: Path) -> None:
    bookshop, _ = contents(graph)
    result = summarize(tmp_path, graph, "--group", "shoebox", "--json")
    assert [group["group"] for group in result.json["groups"]] == ["shoebox"]
    assert contents(graph)[0] == bookshop
    rest = summarize(tmp_path, graph, "--dry-run", "--json").json["groups"]
    assert [group["to_write"] > 0 for group in rest] == [True, False]


@pytest.mark.full
def test_a_run_with_no_flush_leaves_what_is_deferred_to_the_command(
    unflushed_samples: Path, tmp_path: Path
) -> None:
    backfill(tmp_path, *FIRST_TURNS, "--no-flush", **BURSTS)
    unflushed = embedded(unflushed_samples)
    assert summaries(contents(embedded(tmp_path))) == summaries(contents(unflushed))
    [latest, *_] = run_in_process("runs", "--json", folder=tmp_path).json["runs"]
    assert "flushed" not in latest["summary_refreshed"]
    done = summarize(tmp_path, embedded(tmp_path), "--json").json["groups"]
    assert sum(group["written"] for group in done) > 0


def test_a_group_that_another_process_writes_is_an_error_and_the_others_are_written(
    graph: str, tmp_path: Path
) -> None:
    asyncio.run(lease_elsewhere(graph, GroupId("shoebox")))
    _, shoebox = contents(graph)
    result = summarize(tmp_path, graph, "--json")
    free, busy = result.json["groups"]
    assert result.exit_code == 1
    assert f"`{OTHER}` until" in busy["error"]
    assert f"`{OTHER}` until" in result.messages[0]
    assert (busy["written"], free["error"]) == (0, None)
    assert free["written"] == free["to_write"] > 0
    assert contents(graph)[1] == shoebox


def audited(folder: Path, graph: str, limit: int) -> list[dict[str, Any]]:
    """Return the audit of each group; it writes nothing."""
    before = contents(graph)
    result = summarize(folder, graph, "--audit", str(limit), "--json")
    assert (result.exit_code, result.json["dry_run"]) == (0, True)
    assert contents(graph) == before
    return [group["audit"] for group in result.json["groups"]]


def check_listed(audit: dict[str, Any]) -> None:
    """Check that the counts of an audit are those of the summaries that it lists, in order."""
    listed = audit["summaries"]
    cosines = [one["cosine"] for one in listed]
    assert cosines == sorted(cosines)
    assert audit["audited"] == len(listed)
    assert audit["alike"] == sum(cosine >= ALIKE for cosine in cosines)
    assert audit["mean_cosine"] == pytest.approx(fmean(cosines))
    assert audit["missing_facts"] == sum(one["missing_facts"] for one in listed)


@pytest.mark.full
def test_an_audit_shows_what_kept_summaries_miss_and_writes_nothing(
    graph: str, tmp_path: Path
) -> None:
    # A summary was kept only if its facts did not change.
    strict = audited(tmp_path, graph, 100)
    assert sum(audit["audited"] for audit in strict) > 0
    assert all(audit["alike"] == audit["audited"] for audit in strict)
    assert [audit["missing_facts"] for audit in strict] == [0, 0]
    loose = {"TURNETL_SUMMARIES__MIN_SIMILARITY": "0", "TURNETL_SUMMARIES__FLUSH": "false"}
    backfill(tmp_path, "--graph", graph, **loose)
    kept = audited(tmp_path, graph, 100)
    assert all(audit["missing_facts"] > 0 for audit in kept)
    assert all(0 < audit["mean_cosine"] < 1 for audit in kept)
    for audit in kept:
        check_listed(audit)
    shown = {(one.name, one.summary) for group in contents(graph) for one in group.entities}
    listed = [one for audit in kept for one in audit["summaries"]]
    assert all((one["entity"], one["kept"]) in shown and one["kept"] for one in listed)
    assert any(one["new"] != one["kept"] for one in listed)
    assert [audit["audited"] for audit in audited(tmp_path, graph, 2)] == [2, 2]
    assert "facts missing" in summarize(tmp_path, graph, "--audit", "2").stdout


def test_what_cannot_be_written_is_a_sentence(unflushed_samples: Path, tmp_path: Path) -> None:
    for arguments, code, sentence in (
        (("--audit", "0"), 2, "audit"),
        ((), 1, "there is no graph at"),
    ):
        result = run_in_process("summarize", *arguments, folder=tmp_path)
        assert (result.exit_code, sentence in result.messages[0]) == (code, True), arguments
    result = run_in_process("summarize", "--group", "nothing", folder=unflushed_samples)
    assert result.exit_code == 2
    assert "there is no group `nothing`" in result.messages[0]
