"""The server with the index that it reads, on one of its transports."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from turnetl import wiring
from turnetl.clock import Clock
from turnetl.errors import TurnetlError
from turnetl.mcp.arguments import SearchArguments, TimelineArguments
from turnetl.mcp.http import serve_http
from turnetl.mcp.server import history_server
from turnetl.mcp.stdio import serve_stdio
from turnetl.mcp.tools import ToolContext, search, timeline
from turnetl.pipeline.index_reader import open_index_reader
from turnetl.settings import Settings

_HANDSHAKE = 0.5
"""Seconds: the work below would delay the first answers of the protocol."""


async def serve_client(settings: Settings, clock: Clock, directory: Path) -> None:
    """Serve one client on standard input and output, until standard input ends.

    Args:
        settings: the graph, its index and its embedder, and the lake.
        clock: returns the current time.
        directory: the one to which a path that starts with a dot is relative.

    Raises:
        BadUsage, ModelUnusable: the embedder cannot be used as it is configured.
    """
    async with open_context(settings, clock, directory) as context:
        await serve_stdio(history_server(context))


async def serve_clients(
    settings: Settings, clock: Clock, directory: Path, listener: socket.socket, token: str
) -> None:
    """Serve clients over HTTP until the task is cancelled.

    Args:
        settings: the graph, its index and its embedder, and the lake.
        clock: returns the current time.
        directory: the one to which a path that starts with a dot is relative.
        listener: a socket of this machine; it is closed afterwards.
        token: that every request must carry.

    Raises:
        BadUsage, ModelUnusable: the embedder cannot be used as it is configured.
    """
    with listener:
        async with open_context(settings, clock, directory) as context:
            await serve_http(history_server(context), listener, token)


@asynccontextmanager
async def open_context(
    settings: Settings, clock: Clock, directory: Path
) -> AsyncIterator[ToolContext]:
    """Open what the tools read, and prepare it for the first call in the meantime."""
    async with open_index_reader(settings, clock) as reader:
        context = ToolContext(reader, clock, directory)
        task = asyncio.create_task(_prepare(context))
        try:
            yield context
        finally:
            task.cancel()


async def _prepare(context: ToolContext) -> None:
    """Bring the index up to date and load what a search needs, after the handshake of a client.

    A call that meets the same problem says so.
    """
    await asyncio.sleep(_HANDSHAKE)
    with suppress(TurnetlError):
        if wiring.is_built_in(context.reader.settings):
            await search(context, SearchArguments(query="turnetl"))
        else:
            # Another embedder may cost money.
            await timeline(context, TimelineArguments())
