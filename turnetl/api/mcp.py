"""The public function that serves coding agents."""

import pathlib

from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.settings import Settings, load_settings


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
