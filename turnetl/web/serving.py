"""Serve the pages: socket, keys, index and application, until the process is stopped."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from turnetl.base import local_server
from turnetl.base.clock import Clock
from turnetl.pipeline.index_reader import open_index_reader
from turnetl.settings import Settings
from turnetl.web.access import AccessKeys
from turnetl.web.app import application


async def serve(
    settings: Settings,
    clock: Clock,
    *,
    host: str,
    port: int,
    directory: Path,
    on_ready: Callable[[str], object],
) -> None:
    """Answer requests of browsers of this machine until this is cancelled.

    Graph and index may be missing, and appear later: a page says so. Writes nothing but the search
    index, which is brought up to date with the graph beside the requests.

    Args:
        settings: the graph, its index, the lake and the embedder.
        clock: returns the current time.
        host: `localhost`, or an address of this machine alone.
        port: 0 picks a free one.
        directory: the one to which the path of a file that starts with a dot is relative.
        on_ready: called with the address that lets a browser in, when connections are accepted.

    Raises:
        BadUsage: other machines could reach the host, or the port is no port; the embedder is not
            configured.
        Fatal: the port is in use, or may not be used.
    """
    with closing(local_server.listen(host, port)) as listening:
        keys = AccessKeys.new()
        async with open_index_reader(settings, clock) as reader:
            app = application(reader, clock, keys, directory=directory)
            on_ready(local_server.address(listening) + keys.entry)
            await local_server.answer(app, listening)
