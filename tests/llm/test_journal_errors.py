"""A damaged, locked or full journal, or another file: reported, nothing lost, nothing paid twice.

The limits and locks are real. The size of files is limited in a process of its own.
"""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.models import FakeModel
from tests.llm.journal_fixtures import NAME, chat_request, chat_response, clock, fake_model, locked
from tests.scale import scaled
from turnetl.base.errors import Fatal, JournalUnusable
from turnetl.llm.chat import ChatResponse
from turnetl.llm.journal import Journal, JournaledModel, request_key

ROWS = 40
LIMITED = """
import resource, runpy, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
runpy.run_module("tests.llm.journal_fixtures", run_name="__main__")
"""

Result = TypeVar("Result")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "journal.sqlite"


@pytest.fixture
def filled_path(path: Path) -> Path:
    """A closed journal with responses."""
    fill(path)
    return path


def fill(path: Path) -> None:
    with closing(Journal(path, clock=clock)) as journal:
        for number in range(ROWS):
            asked = chat_request(f"number {number}")
            journal.put(request_key(NAME, asked), asked, NAME, chat_response(response_text(number)))


def response_text(number: int) -> str:
    return f'{{"said": "{"x" * 300}{number}"}}'


def key(number: int) -> str:
    return request_key(NAME, chat_request(f"number {number}"))


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def write_notes(path: Path) -> bytes:
    """Write a file that is not a journal; return its content."""
    path.parent.mkdir()
    path.write_text("notes of a user, not to be lost\n" * 100)
    return path.read_bytes()


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)


async def test_a_damaged_file_stops_the_run_before_any_cost(filled_path: Path) -> None:
    damage(filled_path)
    before, model = content_of(filled_path), fake_model()
    journal = Journal(filled_path, clock=clock)
    with pytest.raises(Fatal) as raised:
        await JournaledModel(model, journal).complete(chat_request("number 1"))
    assert f"journal `{filled_path}` is damaged" in str(raised.value)
    assert "move it and its `-wal` and `-shm` files away" in str(raised.value)
    journal.close()
    assert model.requests == []
    assert content_of(filled_path) == before


async def test_a_file_damaged_while_open_stops_the_run(filled_path: Path) -> None:
    model = fake_model()
    with closing(Journal(filled_path, clock=clock)) as journal:
        journaled = JournaledModel(model, journal)
        await journaled.complete(chat_request("number 1"))
        assert model.requests == []
        damage(filled_path)
        for number in (20, 21):
            with pytest.raises(JournalUnusable, match="is damaged"):
                await journaled.complete(chat_request(f"number {number}"))
    assert model.requests == []


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [(b"NULL,", "unreadable"), (b"checksum TEXT", "no such column: checksum")],
)
def test_a_damaged_table_definition_is_reported(
    filled_path: Path, damaged: bytes, reason: str
) -> None:
    """SQLite's error quotes the damaged text."""
    data = filled_path.read_bytes()
    offset = data.index(damaged)
    filled_path.write_bytes(data[:offset] + b"\x80" + data[offset + 1 :])
    with (
        closing(Journal(filled_path, clock=clock)) as journal,
        pytest.raises(JournalUnusable, match=rf"is damaged \({reason}\)"),
    ):
        journal.get(key(1))


async def test_a_text_file_instead_of_a_journal_stops_the_run_and_stays(path: Path) -> None:
    before, model = write_notes(path), fake_model()
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalUnusable, match=r"damaged \(file is not a database\): move it"),
    ):
        await JournaledModel(model, journal).complete(chat_request())
    assert (model.requests, content_of(path)) == ([], before)


async def test_a_database_of_another_program_is_not_changed(path: Path) -> None:
    path.parent.mkdir()
    change(path, "CREATE TABLE answers (a)")
    before = content_of(path)
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalUnusable, match="not a journal of turnetl: move it away"),
    ):
        await JournaledModel(fake_model(), journal).complete(chat_request())
    assert content_of(path) == before


@pytest.mark.parametrize("version", [1, 2, 7])
async def test_a_journal_of_another_version_is_rejected_with_a_sentence_and_not_changed(
    filled_path: Path, version: int
) -> None:
    change(filled_path, f"PRAGMA user_version = {version}")
    before, model = content_of(filled_path), fake_model()
    with (
        closing(Journal(filled_path, clock=clock)) as journal,
        pytest.raises(JournalUnusable) as raised,
    ):
        await JournaledModel(model, journal).complete(chat_request())
    remedy = "update turnetl" if version > 3 else "use the turnetl that wrote it"
    assert str(raised.value) == (
        f"journal `{filled_path}` has version {version}, and this turnetl supports version 3: "
        f"{remedy}, or move it away and run again; turns in the graph are not requested again"
    )
    assert (model.requests, content_of(filled_path)) == ([], before)


def test_a_folder_instead_of_a_file_is_reported(path: Path) -> None:
    path.mkdir(parents=True)
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalUnusable, match="make sure that it is a file that you may write"),
    ):
        journal.get(key(1))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_instead_of_a_file_is_reported(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalUnusable, match="is no regular file: move it away and run again"),
    ):
        journal.get(key(1))


def test_a_file_instead_of_its_folder_is_reported(path: Path) -> None:
    path.parent.write_text("")
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalUnusable, match="make sure that its folder is writable"),
    ):
        journal.get(key(1))


def test_an_empty_file_is_an_empty_journal(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with closing(Journal(path, clock=clock)) as journal:
        assert journal.get(key(1)) is None
        assert journal.stats().total.entries == 0


@pytest.mark.parametrize(
    "change_sql",
    [
        "SET response = CAST('{}' AS BLOB)",
        "SET response = '{}'",
        "SET response = CAST(response || ' ' AS BLOB)",
        "SET prompt_tokens = 7",
        "SET cost = 'dear'",
        "SET checksum = ''",
    ],
)
async def test_a_damaged_row_is_requested_again_and_replaced(
    filled_path: Path, change_sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    change(filled_path, f"UPDATE responses {change_sql} WHERE key = ?", key(1))
    model = fake_model(chat_response('{"new": 1}'))
    with closing(Journal(filled_path, clock=clock)) as journal:
        journaled = JournaledModel(model, journal)
        for number in (0, 1, 1):
            await journaled.complete(chat_request(f"number {number}"))
        assert len(model.requests) == 1
    assert "it is requested again" in caplog.text
    with closing(Journal(filled_path, clock=clock)) as again:
        stored = again.get(key(1))
        assert stored is not None
        assert stored.text == '{"new": 1}'


@pytest.mark.full
@settings(max_examples=scaled(50))
@given(st.data())
def test_with_any_damaged_bytes_no_wrong_response_is_returned(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "journal.sqlite"
    fill(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        offset = data.draw(st.integers(0, len(content) - 1))
        damage = data.draw(st.binary(min_size=1, max_size=600))
        content[offset : offset + len(damage)] = damage[: len(content) - offset]
    path.write_bytes(content)
    with closing(Journal(path, clock=clock, wait=0.01)) as journal:
        for number in range(ROWS):
            stored = unless_unusable(journal, partial(journal.get, key(number)))
            assert stored is None or stored.text == response_text(number)
        unless_unusable(journal, journal.stats)
        unless_unusable(journal, partial(journal.prune, everything=True))


async def test_a_response_that_cannot_be_stored_is_used_and_no_other_is_paid_for(
    filled_path: Path,
) -> None:
    model = fake_model()
    with closing(Journal(filled_path, clock=clock, wait=0.05)) as journal:
        journaled = JournaledModel(model, journal)
        await journaled.complete(chat_request("first"))
        with ExitStack() as lock:
            model.respond = lambda _: lock_and_respond(lock, filled_path)
            second = await journaled.complete(chat_request("second"))
            with pytest.raises(JournalUnusable, match=r"locked by another program for 0\.05 s"):
                await journaled.complete(chat_request("third"))
            # Stored and unwritten responses are still returned.
            await journaled.complete(chat_request("first"))
            assert (await journaled.complete(chat_request("second"))).text == second.text
    assert [asked.messages[1].text for asked in model.requests] == ["first", "second"]


async def test_an_unwritten_response_is_written_on_close_if_possible(filled_path: Path) -> None:
    with closing(Journal(filled_path, clock=clock, wait=0.05)) as journal, ExitStack() as lock:
        model = FakeModel(lambda _: lock_and_respond(lock, filled_path), NAME)
        await JournaledModel(model, journal).complete(chat_request("second"))
    model = fake_model()
    with closing(Journal(filled_path, clock=clock)) as again:
        await JournaledModel(model, again).complete(chat_request("second"))
    assert model.requests == []


@pytest.mark.full
async def test_responses_lost_on_close_are_reported(
    filled_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(filled_path, clock=clock, wait=0.05)
    with ExitStack() as lock:
        model = FakeModel(lambda _: lock_and_respond(lock, filled_path), NAME)
        await JournaledModel(model, journal).complete(chat_request("second"))
        journal.close()
    message = "1 response is paid for but not stored, and requested again if needed"
    assert f"{message}: journal `{filled_path}`" in caplog.text


async def test_a_journal_locked_from_the_start_stops_the_run_before_any_cost(
    filled_path: Path,
) -> None:
    model = fake_model()
    with locked(filled_path), closing(Journal(filled_path, clock=clock, wait=0.05)) as journal:
        journaled = JournaledModel(model, journal)
        for _ in range(2):
            with pytest.raises(
                JournalUnusable, match="end the program that has it open and run again"
            ):
                await journaled.complete(chat_request())
    assert model.requests == []


async def test_a_short_lock_is_waited_for(filled_path: Path) -> None:
    with closing(Journal(filled_path, clock=clock, wait=60)) as journal:
        journaled = JournaledModel(fake_model(), journal)
        await journaled.complete(chat_request("first"))
        with locked(filled_path):
            second = asyncio.create_task(journaled.complete(chat_request("second")))
            await asyncio.sleep(0.1)
            assert not second.done()
        await second
        assert journal.get(request_key(NAME, chat_request("second"))) is not None


async def test_a_lock_during_a_run_stops_it_before_the_next_request(filled_path: Path) -> None:
    model = fake_model()
    with closing(Journal(filled_path, clock=clock, wait=0.05)) as journal:
        journaled = JournaledModel(model, journal)
        await journaled.complete(chat_request("first"))
        with locked(filled_path), pytest.raises(JournalUnusable, match="locked by another program"):
            await journaled.complete(chat_request("second"))
    assert len(model.requests) == 1


async def test_an_almost_full_disk_stops_the_run_before_any_cost(path: Path) -> None:
    model = fake_model()
    with (
        closing(Journal(path, clock=clock, min_free_bytes=1 << 62)) as journal,
        pytest.raises(
            JournalUnusable, match="responses could be paid for and not stored; free some space"
        ),
    ):
        await JournaledModel(model, journal).complete(chat_request())
    assert model.requests == []


@pytest.mark.full
def test_a_journal_that_cannot_grow_stops_the_run_before_any_cost(filled_path: Path) -> None:
    run = limited(filled_path, 1_000)
    assert run.stdout == "", "what was paid for is used"
    assert f"JournalUnusable: journal `{filled_path}` cannot be written" in run.stderr


@pytest.mark.full
def test_a_full_disk_uses_the_current_response_and_stops_before_the_next_request(
    filled_path: Path,
) -> None:
    """The error ends the program at its next request; the current response was used."""
    run = limited(filled_path, filled_path.stat().st_size + 30_000)
    responses = [int(number) for number in run.stdout.split()]
    assert run.returncode != 0
    assert f"JournalUnusable: journal `{filled_path}` cannot be written" in run.stderr
    assert "make sure that its disk has free space and is not damaged, then run again" in run.stderr
    with closing(Journal(filled_path, clock=clock)) as journal:
        missing = [number for number in responses if journal.get(key(number)) is None]
        assert missing == responses[-1:]
        assert journal.stats().total.entries == ROWS + len(responses) - 1


def limited(path: Path, size: int) -> "subprocess.CompletedProcess[str]":
    """Send requests in a process that may not write a longer file."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), str(path), str(ROWS), "1000", "end"],
        capture_output=True,
        text=True,
        check=False,
    )


def unless_unusable(journal: Journal, call: Callable[[], Result]) -> Result | None:
    """Return the result; None if the journal is unusable, with a message that names the file."""
    try:
        return call()
    except JournalUnusable as error:
        if str(journal.path) not in str(error):
            raise
        return None


async def lock_and_respond(lock: ExitStack, path: Path) -> ChatResponse:
    """Respond to a request after another program has locked the journal."""
    lock.enter_context(locked(path))
    return chat_response()
