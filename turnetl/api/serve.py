"""The public function that serves pages over the search index."""

import pathlib
from collections.abc import Callable

from turnetl.base.clock import now
from turnetl.settings import Settings, load_settings
from turnetl.web import serving
from turnetl.web.defaults import HOST, PORT


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
