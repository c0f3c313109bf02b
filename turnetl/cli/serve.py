"""`turnetl serve` and `turnetl mcp`."""

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_COMMON, NO_SETTINGS, CommonOptions, Flag, SettingsOptions
from turnetl.install.hook_call import socket_folder, state_folder
from turnetl.web import HOST, PORT

if TYPE_CHECKING:  # importing it takes a second, which `--help` must not spend
    from turnetl.settings import Settings

_READY = (
    "open the address in a browser on this machine; anyone who has it can read the pages. Ctrl-C "
    "stops the server"
)


def serve(
    *,
    host: str = HOST,
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65_535))] = PORT,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Browse and search all turns in a browser, on this machine only.

    Args:
        host: Address of this machine to listen on: 127.0.0.1 or ::1.
        port: Port to listen on; 0 picks a free one.
    """
    from turnetl.json_output.serve import ServeOutput
    from turnetl.pipeline.index import check_graph
    from turnetl.web.serving import serve as serve_pages

    settings = common.settings()
    # The user's own lake may appear later; a name that leads nowhere is misspelt.
    if common.lake is not None and settings.lake_url is None and not settings.lake.exists():
        check_graph(settings)

    def print_address(url: str) -> None:
        console.print_result(url, ServeOutput(url=url), as_json=common.json)
        sys.stdout.flush()
        console.print_messages([_READY])

    # A signal is how it ends.
    with suppress(KeyboardInterrupt):
        console.run_async(
            serve_pages(
                settings,
                now,
                host=host,
                port=port,
                directory=Path.cwd(),
                on_ready=print_address,
            )
        )
    return ExitCode.DONE


_PORT = 8367
_TOKEN_BYTES = 24
_TERMINAL = (
    "this server speaks MCP on standard input and output, and an agent starts it: see docs/mcp.md; "
    "Ctrl-C ends it"
)


def mcp(
    *,
    http: Flag = False,
    port: Annotated[int | None, Parameter(validator=Number(gte=0, lte=65535))] = None,
    options: SettingsOptions = NO_SETTINGS,
) -> int:
    """Serve the history to coding agents, read-only, over the Model Context Protocol.

    Args:
        http: Serve streamable HTTP on this machine in place of standard input and output.
        port: Port of --http; 0: a free one [default: 8367].
    """
    if port is not None and not http:
        raise BadUsage("`--port` is an option of `--http`: give both, or neither")
    settings = options.settings()
    # A signal is the regular end of a server.
    with suppress(KeyboardInterrupt):
        if http:
            _serve_http(settings, _PORT if port is None else port)
        else:
            _serve_stdio(settings, options)
    return ExitCode.DONE


def _serve_stdio(settings: "Settings", options: SettingsOptions) -> None:
    from turnetl.mcp.serving import serve_client

    if sys.stdin.isatty():
        console.print_messages([_TERMINAL])
    hooks = _hook_folder(options)
    console.run_async(serve_client(settings, now, Path.cwd(), hooks=hooks))


def _hook_folder(options: SettingsOptions) -> Path:
    """Return where this process answers the hooks of this user that read the same history."""
    given = [str(one or "") for one in (options.lake, options.graph, options.config)]
    environment = os.environ  # noqa: TID251 - as a hook does
    state = state_folder(environment, Path.home())
    return socket_folder(state, given, str(Path.cwd()), environment)


def _serve_http(settings: "Settings", port: int) -> None:
    from turnetl.mcp.http import endpoint, listen
    from turnetl.mcp.serving import serve_clients

    listener = listen(port)
    configured = settings.mcp_token
    token, messages = _token(configured.get_secret_value() if configured else None)
    serving = f"serving MCP on {endpoint(listener)}; Ctrl-C ends it"
    console.print_messages([serving, *messages])
    console.run_async(serve_clients(settings, now, Path.cwd(), listener, token))


def _token(configured: str | None) -> tuple[str, list[str]]:
    """Return the token that requests must carry, and what the user must know about it."""
    if configured is not None:
        return configured, ["requests need the token of TURNETL_MCP_TOKEN, or of `mcp_token`"]
    drawn = secrets.token_urlsafe(_TOKEN_BYTES)
    return drawn, [
        f"requests need the header `Authorization: Bearer {drawn}`",
        "set TURNETL_MCP_TOKEN to use the same token at each start",
    ]
