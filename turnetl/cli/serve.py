"""`turnetl serve`."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_COMMON, CommonOptions
from turnetl.web.defaults import HOST, PORT

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
    """Serve pages to browse and search all turns, for browsers on this machine.

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
