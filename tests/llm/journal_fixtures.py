"""Requests, a model that records them, and a program with a journal that tests may kill."""

import asyncio
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

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


@dataclass
class CountingModel:
    """A model that records requests and waits for a gate."""

    name: str = NAME
    gate: asyncio.Event | None = None
    """Responses wait for it."""
    errors: list[Exception] = field(default_factory=list)
    """Raised first, one per request."""
    respond: Callable[[ChatRequest], ChatResponse] = lambda requests: chat_response(
        f'{{"to": {len(requests.messages)}}}'
    )
    requests: list[ChatRequest] = field(default_factory=list)
    arrived: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    """Released with every request."""
    cancelled: int = 0
    closed: bool = False

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        self.arrived.release()
        try:
            await (self.gate.wait() if self.gate else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.errors:
            raise self.errors.pop(0)
        return self.respond(request)

    async def close(self) -> None:
        self.closed = True


async def main(path: str, first: str, last: str, end: str) -> None:
    """Send the requests from `first` to `last`, print each number after its response; then wait."""
    journal = Journal(Path(path), clock=clock)
    model = CountingModel()
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
