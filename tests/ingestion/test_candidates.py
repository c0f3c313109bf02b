"""What a run adds to the episodes table: assumed times, and the closing of inactive turns."""

from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import GROUP, START, episode, tool, turn
from turnetl.base import schema
from turnetl.base.errors import BadUsage
from turnetl.base.model import ClosedBy, Episode, Turn, TurnId
from turnetl.ingestion import group, plan
from turnetl.ingestion.plan import AssumedTime, Scope
from turnetl.lake import ArchiveMetadata, Lake

NOW = START + timedelta(days=30)
WRITTEN = START + timedelta(days=3)
SCOPE = Scope(now=NOW)
TIMELESS: dict[str, Any] = {"started_at": None, "ended_at": None}
MS = timedelta(milliseconds=1)


def lake_of(folder: Path, *archives: list[Turn], mtime: datetime = WRITTEN) -> Lake:
    """A lake with these archives, filtered; the first is `/a/0.jsonl`."""
    lake = Lake(folder)
    for number, turns in enumerate(archives):
        origin = ArchiveMetadata(
            archive=f"/a/{number}.jsonl",
            size=1,
            mtime_ns=int(mtime.timestamp()) * 10**9,
            sha256=str(number),
            format="claude_code",
            reader_version=1,
            redactor_version="1",
            group=GROUP,
            group_is_explicit=False,
            counts={},
        )
        in_archive = [replace(one, archive=origin.archive) for one in turns]
        lake.write_turns(frames.turns(*in_archive).collect(), origin)
    lake.write_episodes(GROUP, [frames.episode_table(lake.scan_turns(GROUP))], dict)
    return lake


def load_all(lake: Lake, scope: Scope) -> list[Episode]:
    rows = group.candidate_rows(lake, GROUP, scope)
    return list(group.load_episodes(rows, rows.collect()["turn_id"].to_list()))


def times(lake: Lake, assume: AssumedTime | None) -> dict[str | None, datetime | None]:
    """Return the time of each turn by its prompt, in order."""
    loaded = load_all(lake, replace(SCOPE, assume=assume))
    return {episode.turn.prompt_id: episode.turn.started_at for episode in loaded}


def timeless(*natives: str, **fields: Any) -> list[Turn]:
    return [
        turn(native, ordinal=at, first_line=at + 1, first_byte=at * 100, **TIMELESS, **fields)
        for at, native in enumerate(natives)
    ]


def test_the_turns_of_an_archive_without_times_are_a_millisecond_apart_in_its_order(
    tmp_path: Path,
) -> None:
    lake = lake_of(tmp_path, timeless("c", "a", "b"))
    loaded = times(lake, AssumedTime(START))
    assert list(loaded.items()) == [("c", START), ("a", START + MS), ("b", START + 2 * MS)]
    assert times(lake, AssumedTime(START)) == loaded


def test_an_archive_that_grew_keeps_the_times_that_it_had(tmp_path: Path) -> None:
    before = times(lake_of(tmp_path, timeless("a", "b")), AssumedTime(START))
    after = times(lake_of(tmp_path, timeless("a", "b", "c")), AssumedTime(START))
    assert after == before | {"c": START + 2 * MS}


def test_the_time_of_an_archive_can_be_when_it_was_last_written(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, timeless("a", "b"), mtime=WRITTEN)
    assert times(lake, AssumedTime(None)) == {"a": WRITTEN, "b": WRITTEN + MS}


def test_a_turn_that_has_a_time_keeps_it_and_all_are_in_time_order(tmp_path: Path) -> None:
    timed = turn("timed", session_id="s2")
    lake = lake_of(tmp_path, [timed], timeless("a"))
    assert times(lake, None) == {"timed": START, "a": None}
    later, earlier = START + MS, START - MS
    assert list(times(lake, AssumedTime(later)).items()) == [("timed", START), ("a", later)]
    assert list(times(lake, AssumedTime(earlier)).items()) == [("a", earlier), ("timed", START)]


def test_a_copy_in_another_archive_does_not_move_a_turn(tmp_path: Path) -> None:
    one, two = timeless("a", "b", "c"), timeless("c", "d", session_id="s2")
    loaded = times(lake_of(tmp_path, one, two), AssumedTime(START))
    assert loaded == {"a": START, "b": START + MS, "c": START + 2 * MS, "d": START + MS}


def test_a_turn_of_two_formats_has_the_position_of_the_more_complete_row(tmp_path: Path) -> None:
    short, full = timeless("a", "b"), timeless("x", "a", format="other", chars=999)
    full[1] = replace(full[1], turn_id=TurnId("another"))
    loaded = times(lake_of(tmp_path, short, full), AssumedTime(START))
    assert loaded == {"x": START, "a": START + MS, "b": START + MS}


def test_turns_of_one_line_keep_the_order_of_the_archive(tmp_path: Path) -> None:
    turns = [
        turn(native, ordinal=0, session_id=native, user_text=native, **TIMELESS)
        for native in ("y", "x", "z")
    ]
    assert list(times(lake_of(tmp_path, turns), AssumedTime(START))) == ["y", "x", "z"]


def test_no_turn_starts_after_its_own_end(tmp_path: Path) -> None:
    ended = turn("a", started_at=None, ended_at=START)
    assert times(lake_of(tmp_path, [ended]), AssumedTime(WRITTEN)) == {"a": START}


def test_assumed_times_are_not_written_to_the_tables(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, timeless("a"))
    times(lake, AssumedTime(START))
    assert lake.scan_episodes(GROUP).collect()["started_at"].to_list() == [None]
    assert lake.scan_turns(GROUP).collect()["started_at"].to_list() == [None]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-02", datetime.fromisoformat("2026-03-02T00:00+00:00")),
        ("2026-03-02T09:00", START),
        (" 2026-03-02T10:00+01:00 ", START),
        ("2026-03-02T09:00Z", START),
        ("mtime", None),
        ("MTime", None),
    ],
)
def test_a_time_to_assume_is_an_iso_time_or_mtime(text: str, at: datetime | None) -> None:
    assert plan.parse_assumed_time(text, NOW) == AssumedTime(at)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "02.03.2026", "1772442000", "0001-01-01T00:00+14:00", "9999-12-31"]
)
def test_any_other_text_is_rejected_and_quoted(text: str) -> None:
    with pytest.raises(BadUsage, match="not a valid time to assume") as raised:
        plan.parse_assumed_time(text, NOW)
    assert f"`{text}`" in str(raised.value)


def end_of(
    of: Turn, *, inactivity: timedelta, close_after: timedelta = timedelta(minutes=30)
) -> Any:
    """Return whether the turn is closed, and by what, this long after its last row."""
    last = of.ended_at or of.started_at
    row = asdict(episode())
    row = row.pop("turn") | row | asdict(of)
    rows = pl.LazyFrame([row], schema=schema.EPISODES.polars)
    now = last + inactivity if last else NOW
    closed = group.close_inactive_turns(rows, now - close_after).collect()
    return closed["closed"].item(), closed["closed_by"].item()


OPEN: dict[str, Any] = {"closed": False, "closed_by": None}
LONG, SHORT = timedelta(minutes=31), timedelta(minutes=29)
DONE = tool("Bash", "pytest -q", "2 passed")
UNFINISHED = replace(tool("Bash", "make"), ended_at=None)


def test_a_last_turn_is_open_until_its_session_was_inactive_long_enough() -> None:
    assert end_of(turn(**OPEN), inactivity=SHORT) == (False, None)
    assert end_of(turn(**OPEN), inactivity=LONG) == (True, ClosedBy.INACTIVITY)
    assert end_of(turn(**OPEN), inactivity=SHORT, close_after=timedelta(minutes=29)) == (
        True,
        ClosedBy.INACTIVITY,
    )


@pytest.mark.parametrize(
    "interrupted",
    [
        {"tool_calls": (DONE, UNFINISHED)},
        {"tool_calls": (UNFINISHED, DONE)},
        {"assistant_text": "", "tool_calls": (UNFINISHED,)},
        {"assistant_text": ""},
    ],
)
def test_a_turn_of_an_agent_that_crashed_midway_is_closed_as_interrupted(
    interrupted: dict[str, Any],
) -> None:
    assert end_of(turn(**OPEN, **interrupted), inactivity=LONG) == (True, ClosedBy.INTERRUPTED)
    assert end_of(turn(**OPEN, **interrupted), inactivity=SHORT) == (False, None)


@pytest.mark.parametrize(
    "complete",
    [
        {"tool_calls": (DONE,)},
        {"assistant_text": "", "tool_calls": (DONE,)},
        # An empty result is a result: the call has an end.
        {"tool_calls": (replace(UNFINISHED, ended_at=START),)},
    ],
)
def test_inactivity_after_a_finished_step_is_not_an_interruption(complete: dict[str, Any]) -> None:
    assert end_of(turn(**OPEN, **complete), inactivity=LONG) == (True, ClosedBy.INACTIVITY)


def test_an_end_that_the_archive_records_is_kept() -> None:
    ended = turn(closed=True, closed_by=ClosedBy.SESSION_END, assistant_text="")
    assert end_of(ended, inactivity=LONG) == (True, ClosedBy.SESSION_END)


def test_a_turn_without_a_time_is_never_closed_by_inactivity() -> None:
    assert end_of(turn(**OPEN, **TIMELESS), inactivity=LONG) == (False, None)


def test_inactivity_is_measured_from_an_assumed_time_too(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, timeless("a", **OPEN))

    def closed(at: datetime) -> list[bool]:
        return [
            episode.turn.closed
            for episode in load_all(lake, replace(SCOPE, assume=AssumedTime(at)))
        ]

    assert closed(START) == [True]
    assert closed(NOW - timedelta(minutes=1)) == [False]


@pytest.mark.parametrize("batch_rows", [1, 3, 7, 100, None])
def test_selected_turns_come_in_table_order_for_any_batch_size(
    tmp_path: Path, batch_rows: int | None
) -> None:
    turns = [turn(f"p{at}", started_at=START + timedelta(minutes=at)) for at in range(20)]
    lake = lake_of(tmp_path, turns)
    rows = group.candidate_rows(lake, GROUP, SCOPE)
    selected = [one.turn_id for one in turns if one.prompt_id not in ("p4", "p5", "p6", "p19")]
    loaded = group.load_episodes(rows, set(selected), batch_rows=batch_rows)
    assert [one.turn_id for one in loaded] == selected
    assert list(group.load_episodes(rows, (), batch_rows=batch_rows)) == []


def test_a_table_that_is_replaced_during_the_run_does_not_change_the_turns_loaded(
    tmp_path: Path,
) -> None:
    turns = [turn(f"p{at}", started_at=START + timedelta(minutes=at)) for at in range(6)]
    lake = lake_of(tmp_path, turns)
    loaded = group.load_episodes(
        group.candidate_rows(lake, GROUP, SCOPE), {one.turn_id for one in turns}, batch_rows=2
    )
    assert next(loaded).turn == next(lake.episodes(GROUP)).turn
    lake_of(tmp_path, [turn("late", started_at=START - timedelta(days=1)), turns[5]])
    assert [one.turn_id for one in loaded] == [one.turn_id for one in turns[1:]]
