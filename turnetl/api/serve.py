"""The public function that serves pages over the search index.

The public function that serves coding agents.
"""

import pathlib
from collections.abc import Callable

from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.settings import Settings, load_settings
from turnetl.web import HOST, PORT, serving


async def serve(
    settings: Settings | None = None,
    *,
    on_ready: Callable[[str], object],
    host: str = HOST,
    port: int = PORT,
) -> None:
    """Answer requests of browsers of this machine until this is cancelled.

    Graph and index may be missing, and appear later: a page says so. Writes nothing but the search
    index, which is brought up to date with the graph beside the requests.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        on_ready: called with the address that lets a browser in, when connections are accepted.
            Anyone who has the address can read the pages.
        host: `localhost`, or an address of this machine alone.
        port: 0 picks a free one.

    Raises:
        BadUsage: other machines could reach the host, the port is no port, or settings that are not
            valid.
        Fatal: the port is in use, or may not be used.
    """
    await serving.serve(
        settings or load_settings(),
        now,
        host=host,
        port=port,
        directory=pathlib.Path.cwd(),
        on_ready=on_ready,
    )


async def serve_mcp(settings: Settings | None = None, *, port: int | None = None) -> None:
    """Serve the history over the Model Context Protocol, read-only: what `turnetl mcp` does.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        port: serve streamable HTTP on this port of the loopback address, to clients that send the
            token of the settings (`mcp_token`), until the task is cancelled; None: serve one client
            on standard input and output, until standard input ends.

    Raises:
        BadUsage: the port cannot be used, or the settings have no token.
    """
    from turnetl.mcp.http import listen  # noqa: PLC0415 - imports a server
    from turnetl.mcp.serving import serve_client, serve_clients  # noqa: PLC0415 - as above

    settings, directory = settings or load_settings(), pathlib.Path.cwd()
    if port is None:
        await serve_client(settings, now, directory)
        return
    if settings.mcp_token is None:
        raise BadUsage("serving MCP over HTTP needs the setting `mcp_token`, which clients send")
    token = settings.mcp_token.get_secret_value()
    await serve_clients(settings, now, directory, listen(port), token)
