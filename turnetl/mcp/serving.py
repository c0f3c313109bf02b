"""The server with the index that it reads, on one of its transports.

What the tools need takes a second to import, and seconds on a busy machine, for which not every
client waits: it is imported and opened after the handshake, or at the first call.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnetl.base.clock import Clock
from turnetl.base.errors import TurnetlError
from turnetl.mcp.answer import Answer
from turnetl.mcp.arguments import SearchArguments, TimelineArguments, ToolRunner
from turnetl.mcp.server import history_server
from turnetl.settings import Settings

if TYPE_CHECKING:  # see the module
    from turnetl.pipeline.index import OpenIndex
    from turnetl.pipeline.index_reader import IndexReader

_HANDSHAKE = 0.5
"""Seconds after which the tools are prepared, if there was no call."""
_STEP = 2_000
"""Turns whose receipts are read between two calls, in about 10 ms."""


async def serve_client(settings: Settings, clock: Clock, directory: Path) -> None:
    """Serve one client on standard input and output, until standard input ends.

    A path that starts with a dot is relative to the directory.
    """
    from turnetl.mcp.stdio import serve_stdio  # noqa: PLC0415 - one of two transports

    async with _prepared_tools(settings, clock, directory) as run:
        await serve_stdio(history_server(run))


async def serve_clients(
    settings: Settings, clock: Clock, directory: Path, listener: socket.socket, token: str
) -> None:
    """Serve clients with the token over HTTP until the task is cancelled; close the listener."""
    from turnetl.mcp.http import serve_http  # noqa: PLC0415 - as above

    with listener:
        async with _prepared_tools(settings, clock, directory) as run:
            await serve_http(history_server(run), listener, token)


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
        self._run: ToolRunner | None = None
        self._reader: IndexReader | None = None

    async def run(self, tool: str, given: Any) -> Answer:
        """Run a tool; an embedder that cannot be used as it is configured is an error of it."""
        async with self._opening:
            if self._run is None:
                self._run = await self._open()
        return await self._run(tool, given)

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

        has_more = self._reader is not None
        while has_more and self._reader is not None:
            has_more = (await self._reader.read(step)).value
            await asyncio.sleep(0)

    async def _open(self) -> ToolRunner:
        from turnetl.mcp.tools import ToolContext, tool_runner  # noqa: PLC0415 - see the module
        from turnetl.pipeline.index_reader import open_index_reader  # noqa: PLC0415 - as above

        reader = await self._opened.enter_async_context(
            open_index_reader(self._settings, self._clock)
        )
        self._reader = reader
        return tool_runner(ToolContext(reader, self._clock, self._directory))


@asynccontextmanager
async def _prepared_tools(
    settings: Settings, clock: Clock, directory: Path
) -> AsyncIterator[ToolRunner]:
    async with AsyncExitStack() as opened:
        tools = _LazyTools(settings, clock, directory, opened)
        task = asyncio.create_task(tools.prepare())
        try:
            yield tools.run
        finally:
            task.cancel()
            await asyncio.wait([task])
