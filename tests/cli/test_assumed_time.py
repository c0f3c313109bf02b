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


def search_hits(folder: Path, *options: str) -> list[dict[str, str]]:
    """Return the turns about the cart in the order of their times."""
    found = run_in_process("search", "cart", *options, "--json", folder=folder).json
    return sorted(found["hits"], key=lambda hit: str(hit["valid_at"]))


def test_turns_without_a_time_are_pending_and_the_message_says_what_to_do(tmp_path: Path) -> None:
    one = write_archive(tmp_path / "one.jsonl", conversation("ship the cart", session="s3"))
    single = run_in_process("backfill", one, folder=tmp_path)
    assert (
        "1 turn has no time and is pending; set its time with `--assume-time mtime`"
        in single.messages[0]
    )
    archives = (write_timeless(tmp_path), one)
    result = run_in_process("backfill", *archives, "--json", folder=tmp_path)
    (group,) = result.json["groups"]
    assert result.exit_code == 1
    assert (result.json["committed"], group["uncommitted_reasons"]) == (0, {"no_time": 4})
    assert "4 turns have no time and are pending; set their time with" in result.messages[0]
    assert "--assume-time" in result.messages[0]
    status = run_in_process("status", folder=tmp_path).stdout
    assert "pending: 4 no time" in status
    assert "nothing to ingest now: pending turns wait for the reasons above" in status
    assert run_in_process("backfill", *archives, dated(tmp_path), folder=tmp_path).exit_code == 0


def dated(folder: Path) -> Path:
    """Write an archive of a turn that has a time."""
    rows = conversation("ship the cart", session="s2", at=MARCH + timedelta(days=1))
    return write_archive(folder / "dated.jsonl", rows)


def test_an_assumed_time_dates_turns_in_order_and_a_second_run_does_nothing(
    graph_url: str, tmp_path: Path
) -> None:
    graph = ("--graph", graph_url)
    command = ("backfill", write_timeless(tmp_path), *graph, "--json")
    assume = ("--assume-time", "2026-03-02T10:00+01:00")
    outside = run_in_process(*command, *assume, "--until", "2026-03-01", folder=tmp_path).json
    (group,) = outside["groups"]
    assert (outside["committed"], group["uncommitted_reasons"]) == (0, {"out_of_range": 3})
    first = run_in_process(*command, *assume, "--since", "2026-03-02", folder=tmp_path).json
    assert (first["committed"], first["turns_with_assumed_time"]) == (3, 3)
    times = [datetime.fromisoformat(hit["valid_at"]) for hit in search_hits(tmp_path, *graph)]
    assert times == [MARCH + timedelta(milliseconds=at) for at in range(3)]
    for options in (assume, ()):
        again = run_in_process(*command, *options, folder=tmp_path)
        assert (again.exit_code, again.json["committed"]) == (0, 0)
        assert (again.json["already_committed"], again.json["turns_with_assumed_time"]) == (3, 3)
    assert (
        "assumed time: 3" in run_in_process("status", "--verbose", *graph, folder=tmp_path).stdout
    )


def test_the_assumed_time_can_be_that_of_the_file_and_turns_that_have_a_time_keep_it(
    tmp_path: Path,
) -> None:
    archive = write_timeless(tmp_path)
    os.utime(archive, (MARCH.timestamp(), MARCH.timestamp()))
    command = ("backfill", archive, dated(tmp_path), "--assume-time", "mtime", "--json")
    result = run_in_process(*command, folder=tmp_path).json
    assert (result["committed"], result["turns_with_assumed_time"]) == (4, 3)
    first, *_, last = (datetime.fromisoformat(hit["valid_at"]) for hit in search_hits(tmp_path))
    assert (first, last) == (MARCH, MARCH + timedelta(days=1))


def test_an_invalid_time_is_a_usage_error_before_anything_is_read(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    archive = write_timeless(tmp_path)
    for option, values in (
        ("--assume-time", ("yesterday", "", "9000-01-01")),
        ("--close-after", ("-1", "soon", "nan", "inf")),
    ):
        for value in values:
            with subtests.test(option=option, value=value):
                result = run_in_process("backfill", archive, option, value, folder=tmp_path)
                assert (result.exit_code, len(result.messages)) == (2, 1)
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
    done = run_in_process("ingest", "--close-after", "0", "--json", folder=tmp_path).json
    assert done["committed"] == 2
    # As after the crash of an agent.
    text = run_in_process("search", "fix the cart", "-n", "1", "-v", folder=tmp_path).stdout
    assert "→ No answer" in text


@pytest.mark.full
def test_the_turns_of_missing_archives_stay_and_status_counts_the_archives(tmp_path: Path) -> None:
    existing = write_archive(tmp_path / "existing.jsonl", conversation(*PROMPTS, at=MARCH))
    missing = dated(tmp_path)
    run_in_process("backfill", existing, missing, folder=tmp_path)
    (group,) = run_in_process("status", "--json", folder=tmp_path).json["groups"]
    assert (group["committed"], group["missing_archives"]) == (4, [])
    missing.unlink()
    assert "missing archives: 1" in run_in_process("status", "--verbose", folder=tmp_path).stdout
    (group,) = run_in_process("status", "--json", folder=tmp_path).json["groups"]
    assert (group["committed"], group["missing_archives"]) == (4, [str(missing)])
    again = run_in_process("backfill", existing, "--json", folder=tmp_path).json
    assert again["already_committed"] == 4
