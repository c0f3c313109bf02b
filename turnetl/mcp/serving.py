"""The server with the index that it reads, on one of its transports.

What the tools need takes a second to import, and seconds on a busy machine, for which not every
client waits: it is imported and opened after the handshake, or at the first call.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnetl.base import private_files
from turnetl.base.clock import Clock
from turnetl.base.errors import TurnetlError
from turnetl.install.hook_call import MAX_BYTES, HookCall
from turnetl.mcp.answer import Answer
from turnetl.mcp.arguments import SearchArguments, TimelineArguments, ToolRunner
from turnetl.mcp.server import history_server
from turnetl.settings import Settings

if TYPE_CHECKING:  # see the module
    from turnetl.pipeline.index import OpenIndex
    from turnetl.pipeline.index_reader import IndexReader

log = logging.getLogger(__name__)

_HANDSHAKE = 0.5
"""Seconds after which the tools are prepared, if there was no call."""
_STEP = 2_000
"""Turns whose receipts are read between two calls, in about 10 ms."""


async def serve_client(
    settings: Settings, clock: Clock, directory: Path, *, hooks: Path | None = None
) -> None:
    """Serve one client on standard input and output, until standard input ends.

    A path that starts with a dot is relative to the directory. Meanwhile hooks of this user are
    answered on a socket in the folder `hooks`.
    """
    from turnetl.mcp.stdio import serve_stdio  # noqa: PLC0415 - one of two transports

    async with (
        _prepared_tools(settings, clock, directory) as tools,
        nullcontext() if hooks is None else _answering_hooks(hooks, tools),
    ):
        await serve_stdio(history_server(tools.run))


async def serve_clients(
    settings: Settings, clock: Clock, directory: Path, listener: socket.socket, token: str
) -> None:
    """Serve clients with the token over HTTP until the task is cancelled; close the listener."""
    from turnetl.mcp.http import serve_http  # noqa: PLC0415 - as above

    with listener:
        async with _prepared_tools(settings, clock, directory) as tools:
            await serve_http(history_server(tools.run), listener, token)


class _LazyTools:
    """The tools, which the first call opens."""

    def __init__(
        self, settings: Settings, clock: Clock, directory: Path, opened: AsyncExitStack
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._directory = directory
        self._opened = opened
        self._opening = asyncio.Lock()
        self._tools: tuple[IndexReader, ToolRunner] | None = None

    async def run(self, tool: str, given: Any) -> Answer:
        """Run a tool; an embedder that cannot be used as it is configured is an error of it."""
        _, run = await self._open_once()
        return await run(tool, given)

    async def reader(self) -> "IndexReader":
        """Return the index that the tools read."""
        reader, _ = await self._open_once()
        return reader

    async def _open_once(self) -> "tuple[IndexReader, ToolRunner]":
        async with self._opening:
            if self._tools is None:
                self._tools = await self._open()
        return self._tools

    async def prepare(self) -> None:
        """Bring the index up to date and load what a search needs.

        A call that meets the same problem says so.
        """
        await asyncio.sleep(_HANDSHAKE)
        from turnetl import wiring  # noqa: PLC0415 - see the module

        with suppress(TurnetlError):
            if wiring.is_built_in(self._settings):
                await self.run("search", SearchArguments(query="turnetl"))
            else:
                # Another embedder may cost money.
                await self.run("timeline", TimelineArguments())
            await self._read_ahead()

    async def _read_ahead(self) -> None:
        """Read at which lines turns are, in steps between which calls are answered."""

        async def step(opened: "OpenIndex") -> bool:
            return opened.index.read_ahead(_STEP)

        reader = await self.reader()
        while (await reader.read(step)).value:  # noqa: ASYNC110 - it is no event that is awaited
            await asyncio.sleep(0)

    async def _open(self) -> "tuple[IndexReader, ToolRunner]":
        from turnetl.mcp.tools import ToolContext, tool_runner  # noqa: PLC0415 - see the module
        from turnetl.pipeline.index_reader import open_index_reader  # noqa: PLC0415 - as above

        reader = await self._opened.enter_async_context(
            open_index_reader(self._settings, self._clock)
        )
        return reader, tool_runner(ToolContext(reader, self._clock, self._directory))


@asynccontextmanager
async def _prepared_tools(
    settings: Settings, clock: Clock, directory: Path
) -> AsyncIterator[_LazyTools]:
    async with AsyncExitStack() as opened:
        tools = _LazyTools(settings, clock, directory, opened)
        task = asyncio.create_task(tools.prepare())
        try:
            yield tools
        finally:
            task.cancel()
            await asyncio.wait([task])


_MAX_PATH = 100
"""Bytes of the path of a socket."""


@asynccontextmanager
async def _answering_hooks(folder: Path, tools: _LazyTools) -> AsyncIterator[None]:
    """Answer the calls of hooks on a socket in the folder, one on a connection.

    A system without such sockets, or a path that is too long, is no error: hooks answer alone.
    """
    path = folder / f"{os.getpid()}.sock"

    async def respond(received: asyncio.StreamReader, sent: asyncio.StreamWriter) -> None:
        from turnetl.mcp.hooks import answer_beside  # noqa: PLC0415 - see the module

        try:
            call = HookCall.decode(await received.readline())
            answer = await answer_beside(await tools.reader(), call)
            sent.write(json.dumps(answer).encode() + b"\n")
            await sent.drain()
        except Exception:
            log.info("a hook was not answered, and answers alone", exc_info=True)
        finally:
            sent.close()

    server = None
    if len(os.fsencode(path)) <= _MAX_PATH and hasattr(asyncio, "start_unix_server"):
        with suppress(OSError):
            private_files.create_folder(folder)
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(respond, path, limit=MAX_BYTES)
    try:
        yield
    finally:
        if server is not None:
            server.close()
            path.unlink(missing_ok=True)
