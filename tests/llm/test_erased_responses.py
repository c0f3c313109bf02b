"""Responses that are erased from a journal leave no byte in its files."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from turnetl.base.errors import JournalUnusable
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.journal import Journal
from turnetl.llm.journal.file import JournalFile

NOW = datetime(2026, 5, 1, tzinfo=UTC)
REQUEST = ChatRequest("extract", (), None, 100)


def journal(path: Path, wait: float = 60) -> Journal:
    return Journal(path, clock=lambda: NOW, wait=wait)


def fill(path: Path) -> None:
    opened = journal(path)
    for number in range(60):
        word = "windmill" if number % 3 == 0 else "lighthouse"
        text = f"{word} {number} " * 400
        opened.put(f"key{number}", REQUEST, "m", ChatResponse(text, 1, 1, truncated=False))
    opened.close()


def bytes_in(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_an_erased_response_leaves_no_byte_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    fill(path)
    opened = journal(path)
    assert opened.erase(lambda response: b"windmill" in response) == 20
    assert opened.get("key0") is None
    assert opened.get("key1") is not None
    assert opened.erase(lambda response: b"windmill" in response) == 0
    opened.close()
    assert b"windmill" not in bytes_in(path)
    assert b"lighthouse" in bytes_in(path)


def test_a_missing_journal_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    opened = journal(path)
    assert opened.erase(lambda _: True) == 0
    opened.close()
    assert not path.exists()


def test_a_journal_that_another_process_reads_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    fill(path)
    other = JournalFile.open(path, 1)
    assert other.find("key1", wait=True) is not None
    other.reader.execute("BEGIN")
    other.reader.execute("SELECT count(*) FROM responses").fetchone()
    opened = journal(path, wait=0.1)
    with pytest.raises(JournalUnusable, match="end the program that has it open"):
        opened.erase(lambda response: b"windmill" in response)
    opened.close()
    other.reader.execute("ROLLBACK")
    other.close()
