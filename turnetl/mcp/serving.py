"""The server with the index that it reads, on one of its transports."""

import socket
from pathlib import Path

from turnetl.clock import Clock
from turnetl.mcp.http import serve_http
from turnetl.mcp.server import history_server
from turnetl.mcp.stdio import serve_stdio
from turnetl.mcp.tools import ToolContext
from turnetl.pipeline.index_reader import open_index_reader
from turnetl.settings import Settings


async def serve_client(settings: Settings, clock: Clock, directory: Path) -> None:
    """Serve one client on standard input and output, until standard input ends.

    Args:
        settings: the graph, its index and its embedder, and the lake.
        clock: returns the current time.
        directory: the one to which a path that starts with a dot is relative.

    Raises:
        BadUsage, ModelUnusable: the embedder cannot be used as it is configured.
    """
    async with open_index_reader(settings, clock) as reader:
        await serve_stdio(history_server(ToolContext(reader, clock, directory)))


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
        async with open_index_reader(settings, clock) as reader:
            server = history_server(ToolContext(reader, clock, directory))
            await serve_http(server, listener, token)
