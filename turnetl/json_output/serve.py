"""`turnetl serve --json`."""

from typing import Annotated

from turnetl.json_output.base import JsonOutput, described


class ServeOutput(JsonOutput):
    """Printed when connections are accepted, before the first one."""

    url: Annotated[
        str,
        described(
            "The address that lets a browser in, new at each start; whoever has it can read the "
            "pages."
        ),
    ]
