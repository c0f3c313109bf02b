"""A response is paid for once, however a run is stopped."""

import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.command import clean_environment, command_line, run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider

TURNS = 6


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "archives" / "a.jsonl", TURNS)


def request_counts(provider: FakeProvider) -> Counter[str]:
    """Return how often each request was sent."""
    return Counter(str(request.body) for request in provider.requests)


def journal_size(folder: Path) -> int:
    """Return how many responses the journal of another process holds."""
    journal = folder / ".turnetl" / "lake" / "journal.sqlite"
    if not journal.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])
    except sqlite3.OperationalError:  # it is being created
        return 0


def start(*arguments: str | Path, folder: Path, provider: FakeProvider) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder) | model_environment(provider),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.full
def test_without_a_journal_every_request_is_sent_again(
    session: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    settings = model_environment(provider, JOURNAL="0")
    run_in_process("backfill", session, folder=tmp_path, **settings)
    sent = len(provider.requests)
    run_in_process(
        "ingest", "--graph", f"ladybug://{tmp_path / 'other.lbug'}", folder=tmp_path, **settings
    )
    assert len(provider.requests) == 2 * sent
    assert not (tmp_path / ".turnetl" / "lake" / "journal.sqlite").exists()


def test_a_run_without_a_model_creates_no_journal(filled_shop: Path) -> None:
    assert not (filled_shop / ".turnetl" / "lake" / "journal.sqlite").exists()


@pytest.mark.full
def test_responses_that_a_killed_run_stored_are_not_paid_for_again(
    session: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    """It is killed while it waits: the responses to requests in flight are lost."""
    running = start("backfill", session, folder=tmp_path, provider=provider)
    for _ in range(TURNS):
        assert provider.arrived.acquire(timeout=60)
    provider.hold = threading.Event()
    while journal_size(tmp_path) < TURNS:
        assert running.poll() is None
    running.kill()
    running.communicate(timeout=60)
    provider.hold.set()
    provider.hold = None
    before, sent = journal_size(tmp_path), len(provider.requests)
    finished = run_in_process(
        "backfill", session, "--json", folder=tmp_path, **model_environment(provider)
    )
    assert (finished.exit_code, finished.json["pending"]) == (0, 0)
    assert len(provider.requests) - sent == len(request_counts(provider)) - before
    assert before >= TURNS


@pytest.mark.full
def test_a_stopped_run_stores_the_responses_in_flight(
    session: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.hold = threading.Event()
    running = start("backfill", session, folder=tmp_path, provider=provider)
    for _ in range(TURNS):
        assert provider.arrived.acquire(timeout=60)
    running.send_signal(signal.SIGINT)
    assert running.stderr is not None
    first_line = running.stderr.readline()
    provider.hold.set()
    _, rest = running.communicate(timeout=60)
    assert running.returncode == 130, first_line + rest
    assert "responses that are already paid for" in first_line
    assert "finished work is kept" in rest
    run_in_process("backfill", session, folder=tmp_path, **model_environment(provider))
    # The request that was being sent when the signal arrived may be lost.
    assert sum(count - 1 for count in request_counts(provider).values()) <= 1


@pytest.mark.full
def test_two_concurrent_runs_share_one_journal(provider: FakeProvider, tmp_path: Path) -> None:
    """Each has its own graph file: Ladybug allows one process per file."""
    write_session(tmp_path / "one.jsonl", TURNS)
    write_session(tmp_path / "two.jsonl", TURNS, session="s2")
    for name in ("one", "two"):
        run_in_process("parse", f"{name}.jsonl", "--group", name, folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    runs = [
        start(
            *("ingest", "--group", name, "--graph", f"ladybug://{tmp_path / name}.lbug"),
            folder=tmp_path,
            provider=provider,
        )
        for name in ("one", "two")
    ]
    for run in runs:
        _, stderr = run.communicate(timeout=120)
        assert run.returncode == 0, stderr
    stats = run_in_process("journal", "stats", "--json", folder=tmp_path)
    assert stats.json["responses"] == len(request_counts(provider))


@pytest.mark.full
def test_journal_stats_and_prune(session: Path, provider: FakeProvider, tmp_path: Path) -> None:
    run_in_process("backfill", session, folder=tmp_path, **model_environment(provider))
    sent = len(provider.requests)
    stats = run_in_process("journal", "stats", "--json", folder=tmp_path).json
    assert (stats["responses"], list(stats["by_model"])) == (sent, ["openai-compatible/canned"])
    for which, removed in (
        (("--model", "other"), 0),
        (("--older-than", "1"), 0),
        (("--all",), sent),
    ):
        pruned = run_in_process("journal", "prune", *which, "--dry-run", "--json", folder=tmp_path)
        assert (pruned.exit_code, pruned.json["responses"]) == (0, removed)
    assert run_in_process("journal", "stats", "--json", folder=tmp_path).json["responses"] == sent
    assert run_in_process("journal", "prune", "--model", "canned", folder=tmp_path).exit_code == 0
    assert run_in_process("journal", "stats", "--json", folder=tmp_path).json["responses"] == 0


def test_the_commands_create_no_journal_and_prune_needs_a_selection(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    assert run_in_process("journal", "stats", folder=tmp_path).exit_code == 0
    assert run_in_process("journal", "prune", "--all", folder=tmp_path).exit_code == 0
    for wrong in ((), ("--older-than", "soon"), ("--older-than", "-1")):
        with subtests.test(wrong=wrong):
            result = run_in_process("journal", "prune", *wrong, folder=tmp_path)
            assert (result.exit_code, len(result.messages)) == (2, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_damaged_journal_stops_a_run_before_the_first_request(
    session: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    journal = tmp_path / ".turnetl" / "lake" / "journal.sqlite"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"not a database, despite its name" * 100)
    result = run_in_process("backfill", session, folder=tmp_path, **model_environment(provider))
    assert result.exit_code == 1
    assert any("journal.sqlite" in message for message in result.messages)
    assert provider.requests == []
    again = run_in_process("journal", "stats", folder=tmp_path)
    assert (again.exit_code, len(again.messages)) == (1, 1)
