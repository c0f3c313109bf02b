"""A journal that is damaged, locked, full or not a journal: told, nothing lost, nothing paid twice.

Real limits and real locks; what a process may write is limited in a process of its own.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.journal_fixtures import NAME, Counted, answer, clock, locked, request
from tests.scale import scaled
from turnetl.errors import Fatal, JournalRefused
from turnetl.llm.chat import ChatResponse
from turnetl.llm.journal import Journal, JournaledModel, request_key

ROWS = 40
LIMITED = """
import resource, runpy, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
runpy.run_module("tests.llm.journal_fixtures", run_name="__main__")
"""

Found = TypeVar("Found")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "journal.sqlite"


@pytest.fixture
def full(path: Path) -> Path:
    """A journal with some answers, closed."""
    filled(path)
    return path


def filled(path: Path) -> None:
    with closing(Journal(path, clock=clock)) as journal:
        for number in range(ROWS):
            asked = request(f"number {number}")
            journal.put(request_key(NAME, asked), asked, NAME, answer(said(number)))


def said(number: int) -> str:
    return f'{{"said": "{"x" * 300}{number}"}}'


def key(number: int) -> str:
    return request_key(NAME, request(f"number {number}"))


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(statement, values)


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def notes(path: Path) -> bytes:
    """Write what is no journal, and return it."""
    path.parent.mkdir()
    path.write_text("notes of a person, not to be lost\n" * 100)
    return path.read_bytes()


def torn(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)


async def test_a_damaged_file_stops_the_run_before_any_cost(full: Path) -> None:
    torn(full)
    before, model = bytes_of(full), Counted()
    journal = Journal(full, clock=clock)
    with pytest.raises(Fatal) as refused:
        await JournaledModel(model, journal).complete(request("number 1"))
    assert f"journal `{full}` is damaged" in str(refused.value)
    assert "move it and its `-wal` and `-shm` files away" in str(refused.value)
    journal.close()
    assert model.asked == []
    assert bytes_of(full) == before


async def test_a_file_damaged_while_open_stops_the_run(full: Path) -> None:
    model = Counted()
    with closing(Journal(full, clock=clock)) as journal:
        asks = JournaledModel(model, journal)
        assert (await asks.complete(request("number 1"))).from_journal
        torn(full)
        for number in (20, 21):
            with pytest.raises(JournalRefused, match="is damaged"):
                await asks.complete(request(f"number {number}"))
    assert model.asked == []


@pytest.mark.parametrize(
    ("word", "told"), [(b"NULL,", "unreadable"), (b"checksum TEXT", "no such column: checksum")]
)
def test_a_damaged_table_definition_is_reported(full: Path, word: bytes, told: str) -> None:
    """SQLite quotes them, whatever they are."""
    data = full.read_bytes()
    at = data.index(word)
    full.write_bytes(data[:at] + b"\x80" + data[at + 1 :])
    with (
        closing(Journal(full, clock=clock)) as journal,
        pytest.raises(JournalRefused, match=rf"is damaged \({told}\)"),
    ):
        journal.get(key(1))


async def test_a_text_file_instead_of_a_journal_stops_the_run_and_stays(path: Path) -> None:
    before, model = notes(path), Counted()
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalRefused, match=r"damaged \(file is not a database\): move it"),
    ):
        await JournaledModel(model, journal).complete(request())
    assert (model.asked, bytes_of(path)) == ([], before)


async def test_a_database_of_another_program_is_not_changed(path: Path) -> None:
    path.parent.mkdir()
    change(path, "CREATE TABLE answers (a)")
    before = bytes_of(path)
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalRefused, match="not a journal of turnetl: move it away"),
    ):
        await JournaledModel(Counted(), journal).complete(request())
    assert bytes_of(path) == before


async def test_a_journal_of_another_version_is_refused_and_not_changed(full: Path) -> None:
    change(full, "PRAGMA user_version = 7")
    with (
        closing(Journal(full, clock=clock)) as journal,
        pytest.raises(JournalRefused, match="has version 7, and this turnetl supports version 3"),
    ):
        await JournaledModel(Counted(), journal).complete(request())


def test_a_folder_instead_of_a_file_is_reported(path: Path) -> None:
    path.mkdir(parents=True)
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalRefused, match="make sure that it is a file that you may write"),
    ):
        journal.get(key(1))


def test_a_file_instead_of_its_folder_is_reported(path: Path) -> None:
    path.parent.write_text("")
    with (
        closing(Journal(path, clock=clock)) as journal,
        pytest.raises(JournalRefused, match="make sure that its folder is writable"),
    ):
        journal.get(key(1))


def test_an_empty_file_is_an_empty_journal(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with closing(Journal(path, clock=clock)) as journal:
        assert journal.get(key(1)) is None
        assert journal.stats().total.entries == 0


@pytest.mark.parametrize(
    "wrong",
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
    full: Path, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    change(full, f"UPDATE responses {wrong} WHERE key = ?", key(1))
    model = Counted(gives=lambda _: answer('{"new": 1}'))
    with closing(Journal(full, clock=clock)) as journal:
        asks = JournaledModel(model, journal)
        for number in (0, 1, 1):
            await asks.complete(request(f"number {number}"))
        assert len(model.asked) == 1
    assert "it is requested again" in caplog.text
    with closing(Journal(full, clock=clock)) as again:
        found = again.get(key(1))
        assert found is not None
        assert found.text == '{"new": 1}'


@settings(max_examples=scaled(50))
@given(st.data())
def test_whatever_bytes_are_damaged_no_wrong_response_is_returned(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "journal.sqlite"
    filled(path)
    held = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(held) - 1))
        wrong = data.draw(st.binary(min_size=1, max_size=600))
        held[at : at + len(wrong)] = wrong[: len(held) - at]
    path.write_bytes(held)
    with closing(Journal(path, clock=clock, wait=0.01)) as journal:
        for number in range(ROWS):
            found = unless_told(journal, partial(journal.get, key(number)))
            assert found is None or found.text == said(number)
        unless_told(journal, journal.stats)
        unless_told(journal, partial(journal.prune, everything=True))


async def test_a_response_that_cannot_be_stored_is_used_and_no_other_is_paid_for(
    full: Path,
) -> None:
    model = Counted()
    with closing(Journal(full, clock=clock, wait=0.05)) as journal:
        asks = JournaledModel(model, journal)
        await asks.complete(request("first"))
        with locked(full):
            second = await asks.complete(request("second"))
            assert not second.from_journal
            with pytest.raises(JournalRefused, match=r"locked by another program for 0\.05 s"):
                await asks.complete(request("third"))
            # What is known is still answered, the one in hand too.
            assert (await asks.complete(request("first"))).from_journal
            assert (await asks.complete(request("second"))).text == second.text
    assert [asked.messages[1].text for asked in model.asked] == ["first", "second"]


async def test_an_unwritten_response_is_written_on_close_if_possible(full: Path) -> None:
    with closing(Journal(full, clock=clock, wait=0.05)) as journal:
        asks = JournaledModel(Counted(), journal)
        await asks.complete(request("first"))
        with locked(full):
            await asks.complete(request("second"))
    model = Counted()
    with closing(Journal(full, clock=clock)) as again:
        assert (await JournaledModel(model, again).complete(request("second"))).from_journal
    assert model.asked == []


async def test_responses_lost_on_close_are_reported(
    full: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(full, clock=clock, wait=0.05)
    asks = JournaledModel(Counted(), journal)
    await asks.complete(request("first"))
    with locked(full):
        await asks.complete(request("second"))
        journal.close()
    assert (
        f"1 response is paid for but not stored, and requested again if needed: journal `{full}`"
        in (caplog.text)
    )


async def test_a_journal_locked_from_the_start_stops_the_run_before_any_cost(full: Path) -> None:
    model = Counted()
    with locked(full), closing(Journal(full, clock=clock, wait=0.05)) as journal:
        asks = JournaledModel(model, journal)
        for _ in range(2):
            with pytest.raises(
                JournalRefused, match="end the program that has it open and run again"
            ):
                await asks.complete(request())
    assert model.asked == []


async def test_a_short_lock_is_waited_for(full: Path) -> None:
    model = Counted()
    with closing(Journal(full, clock=clock, wait=60)) as journal:
        asks = JournaledModel(model, journal)
        await asks.complete(request("first"))
        with locked(full) as other:
            model.gives = lambda _: unlocked(other)
            await asks.complete(request("second"))
        assert journal.get(request_key(NAME, request("second"))) is not None


async def test_an_almost_full_disk_stops_the_run_before_any_cost(path: Path) -> None:
    model = Counted()
    with (
        closing(Journal(path, clock=clock, min_free_bytes=1 << 62)) as journal,
        pytest.raises(
            JournalRefused, match="responses could be paid for and not stored; free some space"
        ),
    ):
        await JournaledModel(model, journal).complete(request())
    assert model.asked == []


def test_a_journal_that_cannot_grow_stops_the_run_before_any_cost(full: Path) -> None:
    run = limited(full, 1_000)
    assert run.stdout == "", "what was paid for is used"
    assert f"JournalRefused: journal `{full}` cannot be written" in run.stderr


def test_a_full_disk_uses_the_current_response_and_stops_before_the_next_request(
    full: Path,
) -> None:
    """The program dies of the refusal when it asks again; what it had was used."""
    run = limited(full, full.stat().st_size + 30_000)
    used = [int(number) for number in run.stdout.split()]
    assert run.returncode != 0
    assert f"JournalRefused: journal `{full}` cannot be written" in run.stderr
    assert "make sure that its disk has free space and is not damaged, then run again" in run.stderr
    with closing(Journal(full, clock=clock)) as journal:
        missing = [number for number in used if journal.get(key(number)) is None]
        assert missing == used[-1:]
        assert journal.stats().total.entries == ROWS + len(used) - 1


def limited(path: Path, size: int) -> "subprocess.CompletedProcess[str]":
    """Ask requests in a process that may write no file longer than that."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), str(path), str(ROWS), "1000", "end"],
        capture_output=True,
        text=True,
        check=False,
    )


def unless_told(journal: Journal, does: Callable[[], Found]) -> Found | None:
    """Return what it does; None if it refuses with a sentence that names the file."""
    try:
        return does()
    except JournalRefused as error:
        if str(journal.path) not in str(error):
            raise
        return None


def unlocked(other: sqlite3.Connection) -> ChatResponse:
    other.execute("ROLLBACK")
    return answer()
