"""The server on standard input and output, for one client that starts it as a process.

The SDK serves the messages. Standard input is read here, because its reader would wait for one more
line before the process can end, and takes lines of any length.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json

from turnetl.mcp.server import (
    MAX_MESSAGE,
    has_unusable_id,
    not_a_message,
    not_json,
    with_whole_characters,
)

_CHUNK = 1 << 16
_WAITING_LINES = 16
"""Lines that are read before the server takes them."""
_TOO_LONG = "too long"
"""Stands for a line that is too long, and is no JSON."""
_NO_MESSAGE = "{}"
"""Stands for a request that cannot be answered: JSON, but not a message."""


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until standard input ends. A client that is gone ends it, too."""
    lines = InputLines(lambda: os.read(0, _CHUNK))
    try:
        async with (
            stdio_server(stdin=lines) as (received, sent),  # type: ignore[arg-type]
            answering_malformed(received, sent) as messages,
        ):
            await server.run(messages, sent, server.create_initialization_options())
    except* (BrokenPipeError, anyio.BrokenResourceError):
        pass


class InputLines:
    """The lines of a stream, read by a thread that does not keep the process from ending."""

    def __init__(self, read: Callable[[], bytes], max_line: int = MAX_MESSAGE) -> None:
        """Read nothing yet; of a line with more bytes than `max_line`, nothing is kept.

        `read` blocks until there are bytes, and returns none at the end.
        """
        self._read = read
        self._max_line = max_line

    def __aiter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(_WAITING_LINES)
        threading.Thread(target=self._fill, name="standard-input", daemon=True).start()
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        self._room.release()
        if line is None:
            raise StopAsyncIteration
        return line

    def _fill(self) -> None:
        # The loop is closed when the server has ended: nobody waits for lines then.
        with suppress(RuntimeError):
            for line in split_lines(self._read, self._max_line):
                text = with_whole_characters(line).decode("utf-8", "replace")
                self._put(answerable(text))
            self._put(None)

    def _put(self, line: str | None) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def split_lines(read: Callable[[], bytes], max_line: int) -> Iterator[bytes]:
    """Yield the lines of a stream without their ends, in bounded memory; empty lines are left out.

    A line that is too long is replaced by one that is no message.
    """
    pending, is_too_long = bytearray(), False
    while True:
        try:
            chunk = read()
        except OSError:
            chunk = b""
        *complete, rest = (bytes(pending) + chunk).split(b"\n")
        for line in complete:
            if is_too_long or len(line) > max_line:
                yield _TOO_LONG.encode()
            elif line.strip():
                yield line
            is_too_long = False
        is_too_long = is_too_long or len(rest) > max_line
        pending = bytearray() if is_too_long else bytearray(rest)
        if not chunk:
            if is_too_long or rest.strip():
                yield _TOO_LONG.encode() if is_too_long else rest
            return


def answerable(line: str) -> str:
    """Return a line, or one that is no message for a request whose id no answer can carry."""
    try:
        return _NO_MESSAGE if has_unusable_id(from_json(line)) else line
    except ValueError:
        return line


@asynccontextmanager
async def answering_malformed(received: Any, sent: Any) -> AsyncIterator[Any]:
    """Pass messages on, and answer other lines with an error: the SDK would say nothing about them.

    `received` yields messages, and an exception for each line that is not a message.
    """
    passed_on, messages = anyio.create_memory_object_stream[SessionMessage](0)

    async def forward() -> None:
        async with passed_on:
            async for item in received:
                if isinstance(item, SessionMessage):
                    await passed_on.send(item)
                else:
                    await sent.send(SessionMessage(_rejection(item)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(forward)
        yield messages
        tasks.cancel_scope.cancel()


def _rejection(error: Exception) -> types.JSONRPCError:
    is_json = not isinstance(error, ValidationError) or all(
        one["type"] != "json_invalid" for one in error.errors(include_url=False)
    )
    return not_a_message() if is_json else not_json()
