"""The turns of a report: from the lake, and from the graph what the lake has lost."""

from dataclasses import replace
from pathlib import Path

from tests.activity_report.rows import days, row, rows
from tests.builders import GROUP, START, episode, receipt, turn
from tests.frames import episode_table, turns
from turnetl.activity_report.pending import GroupGaps, pending_turns
from turnetl.activity_report.turns import TurnBook, in_range, read_lake, with_receipts
from turnetl.base.model import GroupId, TurnId
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.lake import Lake


def written(folder: Path) -> Lake:
    """Return a lake with an episodes table of two turns."""
    lake = Lake(folder)
    table = episode_table(turns(turn("p1"), turn("p2", user_text="thanks", assistant_text="")))
    lake.write_episodes(GROUP, [table], dict)
    return lake


def test_a_turn_of_the_lake_is_a_row_with_its_noise_and_the_beginning_of_its_prompt(
    tmp_path: Path,
) -> None:
    found = read_lake(written(tmp_path), [GROUP], (), fail)
    by_id = {one["turn_id"]: one for one in found.iter_rows(named=True)}
    one = by_id[turn("p1").turn_id]
    assert one["prompt"] == "Why does the checkout test fail?"
    assert (one["archive"], one["first_line"], one["is_in_graph"]) == (
        "archives/s1.jsonl",
        1,
        False,
    )
    assert len(by_id) == 2


def test_a_damaged_table_is_reported_and_the_other_groups_are_read(tmp_path: Path) -> None:
    lake = written(tmp_path)
    path = lake.episodes_path(GroupId("broken"))
    path.write_bytes(b"PAR1 nothing PAR1")
    problems: list[tuple[str, str]] = []
    found = read_lake(lake, [GroupId("broken"), GROUP], (), lambda *one: problems.append(one))
    assert found.height == 2
    [(group, error)] = problems
    assert group == "broken"
    assert str(path) in error


def test_a_turn_that_the_lake_has_lost_is_a_row_of_its_receipt() -> None:
    table = rows(row("a", is_in_graph=False), row("b", is_in_graph=False))
    lost = replace(receipt(episode("p9")), turn_id=TurnId("z"), model="openai/gpt")
    found = with_receipts(table, [replace(lost, turn_id=TurnId("a")), lost], {"z": "why?"})
    by_id = {one["turn_id"]: one for one in found.iter_rows(named=True)}
    assert [by_id[name]["is_in_graph"] for name in ("a", "b", "z")] == [True, False, True]
    assert (by_id["z"]["prompt"], by_id["z"]["model"], by_id["z"]["is_in_lake"]) == (
        *("why?", None),
        False,
    )


def test_the_prompt_of_a_lost_turn_may_have_halves_of_characters() -> None:
    lost = receipt(episode("p9"))
    found = with_receipts(rows(), [lost], {lost.turn_id: "a\ud800b"})
    assert found["prompt"].to_list() == ["a?b"]


def test_a_range_of_time_leaves_out_other_turns_and_those_without_a_time() -> None:
    table = rows(row("a"), row("b", started_at=START + days(1)), row("c", started_at=None))
    assert in_range(table, START, START + days(1))["turn_id"].to_list() == ["a"]
    assert in_range(table, None, None).height == 3


def fail(*problem: object) -> None:
    raise AssertionError(problem)


ENTRY = QuarantineEntry(
    turn_id=TurnId("b"),
    error="the model refused",
    archive="/a.jsonl",
    first_line=7,
    run_id="r",
    failed_at=START,
)


def test_turns_that_need_attention_are_listed_by_reason_the_newest_first() -> None:
    table = rows(*(row(name) for name in "abcde"), row("u", is_filtered=False, is_in_graph=False))
    group = GroupGaps(
        GROUP,
        {PendingReason.READY: [TurnId("a"), TurnId("c")], PendingReason.QUARANTINED: [TurnId("b")]},
        {StaleReason.RECIPE_CHANGED: [TurnId("d")]},
        [ENTRY],
    )
    found = pending_turns([group], table, TurnBook(table))
    assert [(one.turn.turn_id, one.error) for one in found.quarantined.items] == [
        ("b", "the model refused")
    ]
    assert [(one.reason, [turn.turn_id for turn in one.turns.items]) for one in found.gaps] == [
        ("ready", ["c", "a"]),
        ("unfiltered", ["u"]),
    ]
    assert found.gaps[0].sentence == PendingReason.READY.sentence
    assert [one.reason for one in found.stale] == ["recipe_changed"]


def test_a_quarantined_turn_that_the_lake_has_lost_is_named_by_its_entry() -> None:
    group = GroupGaps(GROUP, {}, {}, [ENTRY])
    found = pending_turns([group], rows(), TurnBook(rows()))
    [one] = found.quarantined.items
    assert (one.turn.archive, one.turn.first_line) == ("/a.jsonl", 7)
    ranged = pending_turns([group], rows(), TurnBook(rows()), is_ranged=True)
    assert ranged.quarantined.items == ()


def test_turns_outside_of_the_range_of_a_report_are_not_listed() -> None:
    everything = rows(row("a"), row("b"))
    group = GroupGaps(GROUP, {PendingReason.READY: [TurnId("a"), TurnId("b")]}, {}, [])
    found = pending_turns([group], rows(row("b")), TurnBook(everything))
    assert [turn.turn_id for turn in found.gaps[0].turns.items] == ["b"]
