"""Turns without a time, open turns, and missing archives."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.archives import conversation, row, tool_call, tool_result, write_archive
from tests.cli.command import CommandResult, run_in_process
from turnetl.base.clock import now

PROMPTS = ("add a cart to the shop", "fix the cart of the shop", "test the cart of the shop")
MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)


def write_timeless(folder: Path) -> Path:
    return write_archive(folder / "timeless.jsonl", conversation(*PROMPTS))


def search_hits(folder: Path, query: str = "cart") -> list[dict[str, str]]:
    hits: list[dict[str, str]] = run_in_process("search", query, "--json", folder=folder).json[
        "hits"
    ]
    return sorted(hits, key=lambda hit: hit["valid_at"])


def test_turns_without_a_time_are_pending_and_the_message_says_what_to_do(tmp_path: Path) -> None:
    result = run_in_process("backfill", write_timeless(tmp_path), "--json", folder=tmp_path)
    (group,) = result.json["groups"]
    assert (result.json["committed"], group["uncommitted_reasons"]) == (0, {"no_time": 3})
    assert "--assume-time" in result.messages[0]
    assert "3 turns have no time and are pending; set their time with" in result.messages[0]


def test_one_turn_without_a_time_is_named_in_the_singular(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "one.jsonl", conversation("ship the cart", at=None))
    result = run_in_process("backfill", archive, folder=tmp_path)
    assert "1 turn has no time and is pending; set its time with" in result.messages[0]


def test_status_does_not_call_pending_turns_done(tmp_path: Path) -> None:
    run_in_process("backfill", write_timeless(tmp_path), folder=tmp_path)
    text = run_in_process("status", folder=tmp_path).stdout
    assert "Nothing to ingest" in text
    assert "nothing is pending" not in text


def test_a_run_without_any_dated_turn_fails(tmp_path: Path) -> None:
    archive = write_timeless(tmp_path)
    assert run_in_process("backfill", archive, folder=tmp_path).exit_code == 1
    dated = write_archive(
        tmp_path / "dated.jsonl", conversation("ship the cart", session="s2", at=MARCH)
    )
    assert run_in_process("backfill", archive, dated, folder=tmp_path).exit_code == 0


@pytest.mark.full
def test_an_assumed_time_dates_turns_in_order_and_a_second_run_does_nothing(
    graph_url: str, tmp_path: Path
) -> None:
    command = ("backfill", write_timeless(tmp_path), "--graph", graph_url, "--json")
    assume = ("--assume-time", "2026-03-02T10:00+01:00")
    first = run_in_process(*command, *assume, folder=tmp_path).json
    assert (first["committed"], first["turns_with_assumed_time"]) == (3, 3)
    hits = run_in_process("search", "cart", "--graph", graph_url, "--json", folder=tmp_path).json[
        "hits"
    ]
    times = sorted(datetime.fromisoformat(hit["valid_at"]) for hit in hits)
    assert times == [MARCH + timedelta(milliseconds=at) for at in range(3)]
    again = run_in_process(*command, *assume, folder=tmp_path)
    assert (again.exit_code, again.json["committed"], again.json["already_committed"]) == (0, 0, 3)
    without = run_in_process(*command, folder=tmp_path)
    assert (
        without.exit_code,
        without.json["already_committed"],
        without.json["turns_with_assumed_time"],
    ) == (
        0,
        3,
        3,
    )


def test_the_assumed_time_can_be_that_of_the_file(tmp_path: Path) -> None:
    archive = write_timeless(tmp_path)
    os.utime(archive, (MARCH.timestamp(), MARCH.timestamp()))
    run_in_process("backfill", archive, "--assume-time", "mtime", folder=tmp_path)
    assert datetime.fromisoformat(search_hits(tmp_path)[0]["valid_at"]) == MARCH


def test_turns_that_have_a_time_keep_it(tmp_path: Path) -> None:
    dated = write_archive(
        tmp_path / "dated.jsonl", conversation("ship the cart", session="s2", at=MARCH)
    )
    result = run_in_process(
        "backfill", dated, "--assume-time", "2020-01-01", "--json", folder=tmp_path
    )
    assert (result.json["committed"], result.json["turns_with_assumed_time"]) == (1, 0)
    assert search_hits(tmp_path)[0]["valid_at"].startswith("2026-03-02T09:00")


def test_since_and_until_apply_to_assumed_times(tmp_path: Path) -> None:
    command = ("backfill", write_timeless(tmp_path), "--assume-time", "2026-03-02", "--json")
    outside = run_in_process(*command, "--until", "2026-03-01", folder=tmp_path).json
    assert (outside["committed"], outside["groups"][0]["uncommitted_reasons"]) == (
        0,
        {"out_of_range": 3},
    )
    inside = run_in_process(*command, "--since", "2026-03-02", folder=tmp_path).json
    assert inside["committed"] == 3


def test_the_tables_count_assumed_times(tmp_path: Path) -> None:
    result = run_in_process(
        "backfill", write_timeless(tmp_path), "--assume-time", "2026-03-02", folder=tmp_path
    )
    assert "assumed time: 3" in result.stdout
    assert "assumed time: 3" in run_in_process("status", folder=tmp_path).stdout


@pytest.mark.parametrize(
    "wrong",
    [
        ("--assume-time", "yesterday"),
        ("--assume-time", ""),
        ("--assume-time", "9000-01-01"),
        ("--close-after", "-1"),
        ("--close-after", "soon"),
        ("--close-after", "nan"),
        ("--close-after", "inf"),
    ],
)
def test_an_invalid_time_is_a_usage_error_before_anything_is_read(
    wrong: tuple[str, str], tmp_path: Path
) -> None:
    archive = write_timeless(tmp_path)
    result = run_in_process("backfill", archive, *wrong, folder=tmp_path)
    assert result.exit_code == 2
    assert len(result.messages) == 1
    assert list(tmp_path.iterdir()) == [archive]


def open_turn() -> list[str]:
    """Return a session with an open turn: the agent called a tool a moment ago."""
    at = now()
    return [
        *conversation("add a cart to the shop", at=at - timedelta(hours=2)),
        row("user", "fix the cart of the shop", "u1", at),
        tool_call("c1", "Bash", at, command="pytest -q tests/test_cart.py"),
    ]


@pytest.mark.full
def test_an_open_turn_is_pending_and_is_ingested_once_when_it_is_finished(
    graph_url: str, tmp_path: Path
) -> None:
    archive = write_archive(tmp_path / "grows.jsonl", rows := open_turn())
    command = ("backfill", archive, "--graph", graph_url, "--json")
    first = run_in_process(*command, folder=tmp_path).json
    assert (first["committed"], first["groups"][0]["uncommitted_reasons"]) == (1, {"open": 1})
    rows += [
        tool_result("r1", "c1", "1 failed: KeyError: 'price'", now()),
        row("assistant", "The price was missing in the fixture.", "a1", now()),
        row("user", "now ship the cart of the shop", "u2", now()),
    ]
    write_archive(archive, rows)
    second = run_in_process(*command, folder=tmp_path).json
    assert (second["committed"], second["already_committed"]) == (1, 1)
    assert run_in_process(*command, folder=tmp_path).json["committed"] == 0
    result = run_in_process(
        "search", "price missing in the fixture", "--graph", graph_url, folder=tmp_path
    )
    assert "The price was missing in the fixture" in result.stdout
    assert "interrupted" not in result.stdout


@pytest.mark.full
def test_the_minutes_after_which_a_turn_is_closed_are_an_option_of_the_run_and_of_status(
    tmp_path: Path,
) -> None:
    archive = write_archive(tmp_path / "open.jsonl", open_turn())

    def pending(result: CommandResult) -> dict[str, int]:
        reasons: dict[str, int] = result.json["groups"][0]["uncommitted_reasons"]
        return reasons

    dry = ("backfill", archive, "--dry-run", "--json")
    assert pending(run_in_process(*dry, folder=tmp_path)) == {"open": 1, "ready": 1}
    assert pending(run_in_process(*dry, "--close-after", "0", folder=tmp_path)) == {"ready": 2}
    assert pending(run_in_process("status", "--json", folder=tmp_path)) == {"open": 1, "ready": 1}
    inactive = run_in_process("status", "--close-after", "0", "--json", folder=tmp_path)
    assert pending(inactive) == {"ready": 2}
    assert (
        run_in_process("ingest", "--close-after", "0", "--json", folder=tmp_path).json["committed"]
        == 2
    )


def test_a_crashed_agent_leaves_an_interrupted_turn(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "crashed.jsonl", open_turn())
    run_in_process("backfill", archive, "--close-after", "0", folder=tmp_path)
    result = run_in_process("search", "fix the cart", "-n", "1", folder=tmp_path).stdout
    assert "(interrupted before it was done)" in " ".join(result.split())


@pytest.mark.full
def test_the_turns_of_missing_archives_stay_and_status_counts_the_archives(tmp_path: Path) -> None:
    existing = write_archive(tmp_path / "existing.jsonl", conversation(*PROMPTS, at=MARCH))
    missing = write_archive(
        tmp_path / "missing.jsonl", conversation("ship the cart", session="s2", at=MARCH)
    )
    run_in_process("backfill", existing, missing, folder=tmp_path)
    assert "missing archives" not in run_in_process("status", folder=tmp_path).stdout
    missing.unlink()
    assert "missing archives: 1" in run_in_process("status", folder=tmp_path).stdout
    (group,) = run_in_process("status", "--json", folder=tmp_path).json["groups"]
    assert (group["committed"], group["missing_archives"]) == (4, [str(missing)])
    assert (
        run_in_process("backfill", existing, "--json", folder=tmp_path).json["already_committed"]
        == 4
    )
