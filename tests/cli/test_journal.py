"""What was paid for once is not paid for again, whatever stops a run."""

import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.command import clean_environment, command_line, run_in_process, turnetl_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider

TURNS = 6


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return write_session(tmp_path / "archives" / "a.jsonl", TURNS)


def questions(provider: FakeProvider) -> Counter[str]:
    """Return how often each question was asked."""
    return Counter(str(asked.body) for asked in provider.requests)


def kept(folder: Path) -> int:
    """Return how many answers the journal holds, from outside."""
    journal = folder / "data" / "lake" / "journal.sqlite"
    if not journal.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as there:
            return int(there.execute("SELECT count(*) FROM responses").fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0


def starting(
    *arguments: str | Path, folder: Path, provider: FakeProvider
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder) | model_environment(provider),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_emptied_graph_is_filled_again_without_a_call(
    talk: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    first = run_in_process(
        "backfill", talk, "--json", folder=tmp_path, **model_environment(provider)
    )
    asked = len(provider.requests)
    elsewhere = ("--graph", f"ladybug://{tmp_path / 'other.lbug'}")
    again = run_in_process(
        "ingest", *elsewhere, "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (again.exit_code, again.json["committed"]) == (0, TURNS)
    assert len(provider.requests) == asked
    assert again.json["usage"]["journal_hits"] == first.json["usage"]["calls"] == asked
    assert again.json["usage"]["calls"] == 0
    counts = [
        (ran.json["groups"][0]["entities"], ran.json["groups"][0]["facts"])
        for ran in (first, again)
    ]
    assert counts[0] == counts[1]


def test_without_a_journal_everything_is_asked_again(
    talk: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    settings = model_environment(provider, JOURNAL="0")
    run_in_process("backfill", talk, folder=tmp_path, **settings)
    asked = len(provider.requests)
    run_in_process(
        "ingest", "--graph", f"ladybug://{tmp_path / 'other.lbug'}", folder=tmp_path, **settings
    )
    assert len(provider.requests) == 2 * asked
    assert not (tmp_path / "data" / "lake" / "journal.sqlite").exists()


def test_a_run_without_a_model_makes_no_journal(talk: Path, tmp_path: Path) -> None:
    assert run_in_process("backfill", talk, folder=tmp_path).exit_code == 0
    assert not (tmp_path / "data" / "lake" / "journal.sqlite").exists()


def test_what_a_killed_run_kept_is_not_paid_for_again(
    talk: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    """It is killed while it waits: of what was in the air nothing can be known."""
    running = starting("backfill", talk, folder=tmp_path, provider=provider)
    for _ in range(TURNS):
        assert provider.arrived.acquire(timeout=60)
    provider.hold = threading.Event()
    while kept(tmp_path) < TURNS:
        assert running.poll() is None
    running.kill()
    running.communicate(timeout=60)
    provider.hold.set()
    provider.hold = None
    before, asked = kept(tmp_path), len(provider.requests)
    finished = turnetl_process(
        "backfill", talk, "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (finished.exit_code, finished.json["pending"]) == (0, 0)
    assert len(provider.requests) - asked == len(questions(provider)) - before
    assert before >= TURNS


@pytest.mark.parametrize("stops", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_politely_keeps_what_is_in_the_air(
    stops: signal.Signals, talk: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.hold = threading.Event()
    running = starting("backfill", talk, folder=tmp_path, provider=provider)
    for _ in range(TURNS):
        assert provider.arrived.acquire(timeout=60)
    running.send_signal(stops)
    assert running.stderr is not None
    said = running.stderr.readline()
    provider.hold.set()
    _, more = running.communicate(timeout=60)
    assert running.returncode == 130, said + more
    assert "responses that are already paid for" in said
    assert "finished work is kept" in more
    turnetl_process("backfill", talk, folder=tmp_path, **model_environment(provider))
    # The one that was being sent as the stop struck may be lost.
    assert sum(count - 1 for count in questions(provider).values()) <= 1


def test_two_runs_on_two_groups_at_once_share_one_journal(
    provider: FakeProvider, tmp_path: Path
) -> None:
    """Each has a graph file of its own: Ladybug allows one process a file."""
    write_session(tmp_path / "one.jsonl", TURNS)
    write_session(tmp_path / "two.jsonl", TURNS, session="s2")
    for name in ("one", "two"):
        run_in_process("parse", f"{name}.jsonl", "--group", name, folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    runs = [
        starting(
            *("ingest", "--group", name, "--graph", f"ladybug://{tmp_path / name}.lbug"),
            folder=tmp_path,
            provider=provider,
        )
        for name in ("one", "two")
    ]
    for run in runs:
        _, said = run.communicate(timeout=120)
        assert run.returncode == 0, said
    held = run_in_process("journal", "stats", "--json", folder=tmp_path)
    assert held.json["responses"] == len(questions(provider))


def test_the_journal_says_what_it_holds_and_lets_go_of_what_is_named(
    talk: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    run_in_process("backfill", talk, folder=tmp_path, **model_environment(provider))
    asked = len(provider.requests)
    held = run_in_process("journal", "stats", "--json", folder=tmp_path).json
    assert (held["responses"], list(held["by_model"])) == (asked, ["openai-compatible/canned"])
    for which, goes in ((("--model", "other"), 0), (("--older-than", "1"), 0), (("--all",), asked)):
        said = run_in_process("journal", "prune", *which, "--dry-run", "--json", folder=tmp_path)
        assert (said.exit_code, said.json["responses"]) == (0, goes)
    assert run_in_process("journal", "stats", "--json", folder=tmp_path).json["responses"] == asked
    assert run_in_process("journal", "prune", "--model", "canned", folder=tmp_path).exit_code == 0
    assert run_in_process("journal", "stats", "--json", folder=tmp_path).json["responses"] == 0


def test_asking_for_a_journal_that_is_not_there_makes_none(tmp_path: Path) -> None:
    assert run_in_process("journal", "stats", folder=tmp_path).exit_code == 0
    assert run_in_process("journal", "prune", "--all", folder=tmp_path).exit_code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [(), ("--older-than", "soon"), ("--older-than", "-1")])
def test_pruning_needs_to_know_what(wrong: tuple[str, ...], tmp_path: Path) -> None:
    ran = run_in_process("journal", "prune", *wrong, folder=tmp_path)
    assert (ran.exit_code, len(ran.messages)) == (2, 1)


def test_a_damaged_journal_stops_a_run_before_anything_is_paid_for(
    talk: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    journal = tmp_path / "data" / "lake" / "journal.sqlite"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"no database at all, whatever its name says" * 100)
    ran = run_in_process("backfill", talk, folder=tmp_path, **model_environment(provider))
    assert ran.exit_code == 1
    assert any("journal.sqlite" in said for said in ran.messages)
    assert provider.requests == []
    again = run_in_process("journal", "stats", folder=tmp_path)
    assert (again.exit_code, len(again.messages)) == (1, 1)
