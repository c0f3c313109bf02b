"""What a run adds to the episodes table: times that are assumed, and ends that came by silence."""

from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import GROUP, START, episode, tool, turn
from turnetl import schema
from turnetl.episodes import episode_table as table
from turnetl.errors import BadUsage
from turnetl.ingest import assumed_time, candidates
from turnetl.ingest.assumed_time import AssumedTime
from turnetl.ingest.plan import Scope
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.model import ClosedBy, Episode, Turn, TurnId

NOW = START + timedelta(days=30)
WRITTEN = START + timedelta(days=3)
SCOPE = Scope(now=NOW)
TIMELESS: dict[str, Any] = {"started_at": None, "ended_at": None}
MS = timedelta(milliseconds=1)


def lake_of(folder: Path, *archives: list[Turn], mtime: datetime = WRITTEN) -> Lake:
    """A lake that holds these archives, filtered; the first is `/a/0.jsonl`."""
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
        placed = [replace(one, archive=origin.archive) for one in turns]
        lake.write_turns(frames.turns(*placed).collect(), origin)
    lake.write_episodes(GROUP, [table(lake.scan_turns(GROUP))], dict)
    return lake


def all_taken(lake: Lake, scope: Scope) -> list[Episode]:
    rows = candidates.candidate_rows(lake, GROUP, scope)
    return list(candidates.load_episodes(rows, rows.collect()["turn_id"].to_list()))


def times(lake: Lake, assume: AssumedTime | None) -> dict[str | None, datetime | None]:
    """Prompt and time of each turn, in order."""
    taken_ = all_taken(lake, replace(SCOPE, assume=assume))
    return {of.turn.prompt_id: of.turn.started_at for of in taken_}


def timeless(*natives: str, **fields: Any) -> list[Turn]:
    return [
        turn(native, ordinal=at, first_line=at + 1, first_byte=at * 100, **TIMELESS, **fields)
        for at, native in enumerate(natives)
    ]


def test_the_turns_of_an_archive_without_times_are_a_millisecond_apart_in_its_order(
    tmp_path: Path,
) -> None:
    lake = lake_of(tmp_path, timeless("c", "a", "b"))
    found = times(lake, AssumedTime(START))
    assert list(found.items()) == [("c", START), ("a", START + MS), ("b", START + 2 * MS)]
    assert times(lake, AssumedTime(START)) == found


def test_an_archive_that_grew_keeps_the_times_that_it_had(tmp_path: Path) -> None:
    before = times(lake_of(tmp_path, timeless("a", "b")), AssumedTime(START))
    after = times(lake_of(tmp_path, timeless("a", "b", "c")), AssumedTime(START))
    assert after == before | {"c": START + 2 * MS}


def test_the_time_of_an_archive_can_be_when_it_was_last_written(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, timeless("a", "b"), mtime=WRITTEN)
    assert times(lake, AssumedTime(None)) == {"a": WRITTEN, "b": WRITTEN + MS}


def test_a_turn_that_has_a_time_keeps_it_and_all_stand_in_the_order_of_time(tmp_path: Path) -> None:
    told = turn("told", session_id="s2")
    lake = lake_of(tmp_path, [told], timeless("a"))
    assert times(lake, None) == {"told": START, "a": None}
    later, earlier = START + MS, START - MS
    assert list(times(lake, AssumedTime(later)).items()) == [("told", START), ("a", later)]
    assert list(times(lake, AssumedTime(earlier)).items()) == [("a", earlier), ("told", START)]


def test_a_copy_in_another_archive_gives_no_turn_another_place(tmp_path: Path) -> None:
    one, two = timeless("a", "b", "c"), timeless("c", "d", session_id="s2")
    found = times(lake_of(tmp_path, one, two), AssumedTime(START))
    assert found == {"a": START, "b": START + MS, "c": START + 2 * MS, "d": START + MS}


def test_a_turn_that_two_formats_hold_has_the_place_of_the_fuller_row(tmp_path: Path) -> None:
    short, full = timeless("a", "b"), timeless("x", "a", format="other", chars=999)
    full[1] = replace(full[1], turn_id=TurnId("another"))
    found = times(lake_of(tmp_path, short, full), AssumedTime(START))
    assert found == {"x": START, "a": START + MS, "b": START + MS}


def test_turns_of_one_line_keep_the_order_in_which_the_archive_gives_them(tmp_path: Path) -> None:
    talk = [
        turn(native, ordinal=0, session_id=native, user_text=native, **TIMELESS)
        for native in ("y", "x", "z")
    ]
    assert list(times(lake_of(tmp_path, talk), AssumedTime(START))) == ["y", "x", "z"]


def test_no_turn_starts_after_its_own_end(tmp_path: Path) -> None:
    ended = turn("a", started_at=None, ended_at=START)
    assert times(lake_of(tmp_path, [ended]), AssumedTime(WRITTEN)) == {"a": START}


def test_the_tables_say_what_the_archives_say(tmp_path: Path) -> None:
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
def test_a_time_to_assume_is_an_iso_time_or_a_word(text: str, at: datetime | None) -> None:
    assert assumed_time.read(text, NOW) == AssumedTime(at)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "02.03.2026", "1772442000", "0001-01-01T00:00+14:00", "9999-12-31"]
)
def test_anything_else_is_refused_with_the_word_itself(text: str) -> None:
    with pytest.raises(BadUsage, match="not a valid time to assume") as refused:
        assumed_time.read(text, NOW)
    assert f"`{text}`" in str(refused.value)


def ends(of: Turn, *, silent: timedelta, quiet: timedelta = timedelta(minutes=30)) -> Any:
    """Whether the turn is over, and by what, so long after its last row."""
    last = of.ended_at or of.started_at
    row = asdict(episode())
    row = row.pop("turn") | row | asdict(of)
    rows = pl.LazyFrame([row], schema=schema.EPISODES.polars)
    now = last + silent if last else NOW
    over = candidates.close_quiet_turns(rows, now - quiet).collect()
    return over["closed"].item(), over["closed_by"].item()


OPEN: dict[str, Any] = {"closed": False, "closed_by": None}
LONG, SHORT = timedelta(minutes=31), timedelta(minutes=29)
DONE, WAITS = tool("Bash", "pytest -q", "2 passed"), replace(tool("Bash", "make"), ended_at=None)


def test_a_last_turn_is_open_until_nothing_was_written_for_a_while() -> None:
    assert ends(turn(**OPEN), silent=SHORT) == (False, None)
    assert ends(turn(**OPEN), silent=LONG) == (True, ClosedBy.QUIET)
    assert ends(turn(**OPEN), silent=SHORT, quiet=timedelta(minutes=29)) == (True, ClosedBy.QUIET)


@pytest.mark.parametrize(
    "broken",
    [
        {"tool_calls": (DONE, WAITS)},
        {"tool_calls": (WAITS, DONE)},
        {"assistant_text": "", "tool_calls": (WAITS,)},
        {"assistant_text": ""},
    ],
)
def test_an_agent_that_crashed_in_the_middle_leaves_a_turn_that_ends_as_interrupted(
    broken: dict[str, Any],
) -> None:
    assert ends(turn(**OPEN, **broken), silent=LONG) == (True, ClosedBy.INTERRUPTED)
    assert ends(turn(**OPEN, **broken), silent=SHORT) == (False, None)


@pytest.mark.parametrize(
    "whole",
    [
        {"tool_calls": (DONE,)},
        {"assistant_text": "", "tool_calls": (DONE,)},
        # An outcome without a word is one all the same: the call has an end.
        {"tool_calls": (replace(WAITS, ended_at=START),)},
    ],
)
def test_silence_after_a_step_that_was_finished_is_no_crash(whole: dict[str, Any]) -> None:
    assert ends(turn(**OPEN, **whole), silent=LONG) == (True, ClosedBy.QUIET)


def test_what_the_archive_itself_says_of_the_end_stands() -> None:
    said = turn(closed=True, closed_by=ClosedBy.SESSION_END, assistant_text="")
    assert ends(said, silent=LONG) == (True, ClosedBy.SESSION_END)


def test_a_turn_without_any_time_is_never_over_by_silence_alone() -> None:
    assert ends(turn(**OPEN, **TIMELESS), silent=LONG) == (False, None)


def test_an_assumed_time_counts_for_the_silence_too(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, timeless("a", **OPEN))

    def closed(at: datetime) -> list[bool]:
        return [of.turn.closed for of in all_taken(lake, replace(SCOPE, assume=AssumedTime(at)))]

    assert closed(START) == [True]
    assert closed(NOW - timedelta(minutes=1)) == [False]


@pytest.mark.parametrize("at_once", [1, 3, 7, 100, None])
def test_however_many_are_held_at_once_the_turns_are_those_named_in_their_order(
    tmp_path: Path, at_once: int | None
) -> None:
    turns = [turn(f"p{at}", started_at=START + timedelta(minutes=at)) for at in range(20)]
    lake = lake_of(tmp_path, turns)
    rows = candidates.candidate_rows(lake, GROUP, SCOPE)
    named = [of.turn_id for of in turns if of.prompt_id not in ("p4", "p5", "p6", "p19")]
    found = candidates.load_episodes(rows, set(named), batch_rows=at_once)
    assert [of.turn_id for of in found] == named
    assert list(candidates.load_episodes(rows, (), batch_rows=at_once)) == []


def test_a_table_that_is_made_anew_meanwhile_changes_nothing_of_what_is_taken(
    tmp_path: Path,
) -> None:
    turns = [turn(f"p{at}", started_at=START + timedelta(minutes=at)) for at in range(6)]
    lake = lake_of(tmp_path, turns)
    found = candidates.load_episodes(
        candidates.candidate_rows(lake, GROUP, SCOPE), {of.turn_id for of in turns}, batch_rows=2
    )
    assert next(found).turn == next(lake.episodes(GROUP)).turn
    lake_of(tmp_path, [turn("late", started_at=START - timedelta(days=1)), turns[5]])
    assert [of.turn_id for of in found] == [of.turn_id for of in turns[1:]]
