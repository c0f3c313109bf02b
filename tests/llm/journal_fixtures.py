"""Requests, a model that counts them, and a program that asks through a journal, to be killed."""

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


def request(said: str = "Who spoke?", prompt: str = "extract_nodes.extract_text") -> ChatRequest:
    return ChatRequest(
        prompt, (ChatMessage("system", "You extract."), ChatMessage("user", said)), None, 100
    )


def answer(said: str = "{}", cost: float | None = 0.25) -> ChatResponse:
    return ChatResponse(
        said, 100, 10, truncated=False, cached_tokens=40, calls=2, seconds=1.5, cost=cost
    )


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Lock it against writers, until the connection's transaction ends."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


@dataclass
class Counted:
    """A model that says which request it was asked, once it may."""

    name: str = NAME
    gate: asyncio.Event | None = None
    """Answers wait for it."""
    fails: list[Exception] = field(default_factory=list)
    """Raised first, one a request."""
    gives: Callable[[ChatRequest], ChatResponse] = lambda asked: answer(
        f'{{"to": {len(asked.messages)}}}'
    )
    asked: list[ChatRequest] = field(default_factory=list)
    arrived: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    """Released with every request."""
    broken_off: int = 0
    closed: bool = False

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.asked.append(request)
        self.arrived.release()
        try:
            await (self.gate.wait() if self.gate else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.broken_off += 1
            raise
        if self.fails:
            raise self.fails.pop(0)
        return self.gives(request)

    async def close(self) -> None:
        self.closed = True


async def main(path: str, first: str, last: str, end: str) -> None:
    """Ask the requests `first` to `last`, say each when its answer is here, and wait or end."""
    journal = Journal(Path(path), clock=clock)
    model = Counted()
    asks = JournaledModel(model, journal)
    for number in range(int(first), int(last)):
        await asks.complete(request(f"number {number}"))
        _say(str(number))
    _say(f"asked {len(model.asked)}")
    if end == "wait":
        sys.stdin.read()
    await asks.close()
    journal.close()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
