"""While another process writes an embedded graph, the index answers, and says how old it is."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import clean_environment, command_line, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.servers.provider import FakeProvider

TURNS = 3


@contextmanager
def writing(archive: Path, provider: FakeProvider, folder: Path) -> Iterator[None]:
    """Run a backfill that has the graph open and waits for its model; let it finish afterwards."""
    provider.hold = threading.Event()
    while provider.arrived.acquire(blocking=False):
        pass
    running = subprocess.Popen(
        command_line("backfill", archive),
        cwd=folder,
        env=clean_environment(folder) | model_environment(provider, JOURNAL="0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert provider.arrived.acquire(timeout=60)
        yield
    finally:
        provider.hold.set()
        _, messages = running.communicate(timeout=60)
    assert running.returncode == 0, messages


@pytest.fixture
def folder(provider: FakeProvider, tmp_path: Path) -> Path:
    """Return a folder with a graph of three turns."""
    archive = write_session(tmp_path / "a.jsonl", TURNS)
    environment = model_environment(provider)
    assert run_in_process("backfill", archive, folder=tmp_path, **environment).exit_code == 0
    return tmp_path


@pytest.mark.full
def test_search_and_status_answer_during_a_backfill_and_say_how_old_the_data_are(
    folder: Path, provider: FakeProvider
) -> None:
    prompts = (f"Refund order {number}, please: `refund.py` has it" for number in range(TURNS))
    rows = conversation(*prompts, session="s2", at=SESSION_START)
    more = write_archive(folder / "b.jsonl", rows)
    before = run_in_process("search", "part1.py", "--json", folder=folder).json
    with writing(more, provider, folder):
        found = run_in_process("search", "part1.py", "--json", folder=folder)
        status = run_in_process("status", folder=folder, **model_environment(provider))
        output = run_in_process("status", "--json", folder=folder).json
        index = run_in_process("index", folder=folder)
    assert found.json["hits"] == before["hits"] != []
    assert found.json["caught_up_at"] == before["caught_up_at"]
    for result in (found, status):
        assert result.exit_code == 0
        assert len(result.messages) == 1
        assert "the graph was not read: another turnetl process" in result.messages[0]
        assert "which was brought up to date 20" in result.messages[0]
    assert f"search index: {TURNS} turns; brought up to date 20" in status.stdout
    assert output["committed"] == TURNS
    assert output["pending"] == TURNS
    assert output["index"]["turns_behind"] is None
    assert "another turnetl process" in output["unread"]
    assert index.exit_code == 1
    assert "wait until it finishes" in index.messages[0]
    assert "a run that ingests updates the search index itself" in index.messages[0]
    after = run_in_process("search", "refund.py", "--json", folder=folder).json
    assert after["unread"] is None
    assert "Refund order" in after["hits"][0]["prompt"]


@pytest.mark.full
def test_during_the_first_backfill_there_is_nothing_to_search_and_a_message_says_why(
    provider: FakeProvider, tmp_path: Path
) -> None:
    archive = write_session(tmp_path / "a.jsonl", TURNS)
    with writing(archive, provider, tmp_path):
        found = run_in_process("search", "part1.py", folder=tmp_path)
        status = run_in_process("status", folder=tmp_path)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "another turnetl process" in found.messages[0]
    assert status.exit_code != 0
    assert "another turnetl process" in status.messages[0]


@pytest.mark.full
def test_a_run_leaves_an_index_that_a_search_need_not_bring_up_to_date(
    folder: Path, provider: FakeProvider
) -> None:
    status = run_in_process("status", "--json", folder=folder).json
    assert (status["index"]["turns"], status["index"]["turns_behind"]) == (TURNS, 0)
    caught_up_at = status["index"]["caught_up_at"]
    run_in_process("search", "part1.py", folder=folder)
    archive = folder / "a.jsonl"
    run_in_process("backfill", archive, folder=folder, **model_environment(provider))
    after = run_in_process("status", "--json", folder=folder).json
    assert after["index"]["caught_up_at"] == caught_up_at


@pytest.mark.full
def test_an_index_that_cannot_be_written_is_one_warning_and_the_run_succeeds(
    provider: FakeProvider, tmp_path: Path
) -> None:
    archive = write_session(tmp_path / "a.jsonl", TURNS)
    (tmp_path / ".turnetl" / "lake").mkdir(parents=True)
    (tmp_path / ".turnetl" / "lake" / "index").write_text("not a folder")
    result = run_in_process("backfill", archive, folder=tmp_path, **model_environment(provider))
    assert result.exit_code == 0
    warnings = [message for message in result.messages if "index" in message]
    assert len(warnings) == 1
    assert warnings[0].startswith("turnetl: the search index was not updated: the search index")
    assert warnings[0].endswith("; `turnetl index --rebuild` rebuilds it")
