"""Requests, a model that records them, and a program with a journal that tests may kill."""

import asyncio
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.fakes.models import FakeModel, scripted
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.journal import Journal, JournaledModel

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAME = "openai/small"


def clock() -> datetime:
    return NOON


def chat_request(
    text: str = "Who spoke?", prompt_name: str = "extract_nodes.extract_text"
) -> ChatRequest:
    return ChatRequest(
        prompt_name, (ChatMessage("system", "You extract."), ChatMessage("user", text)), None, 100
    )


def chat_response(text: str = "{}", cost: float | None = 0.25) -> ChatResponse:
    return ChatResponse(
        text, 100, 10, truncated=False, cached_tokens=40, calls=2, seconds=1.5, cost=cost
    )


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Lock the file against writers until the end of the transaction."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def fake_model(
    *first: ChatResponse | Exception, name: str = NAME, gate: asyncio.Event | None = None
) -> FakeModel:
    """Return a model that returns or raises the first entries, then responds to every request."""
    return scripted([*first, chat_response('{"to": 2}')], name=name, gate=gate)


async def main(path: str, first: str, last: str, end: str) -> None:
    """Send the requests from `first` to `last`, print each number after its response; then wait."""
    journal = Journal(Path(path), clock=clock)
    model = fake_model()
    journaled = JournaledModel(model, journal)
    for number in range(int(first), int(last)):
        await journaled.complete(chat_request(f"number {number}"))
        _print(str(number))
    _print(f"sent {len(model.requests)}")
    if end == "wait":
        sys.stdin.read()
    await journaled.close()
    journal.close()


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
