"""`turnetl serve --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described


class ServeOutput(JsonOutput):
    """Printed when connections are accepted, before the first one."""

    url: Annotated[
        str,
        described(
            "The address to open in a browser. It holds an access token that is new at each "
            "start: anyone who has the address can read the pages."
        ),
    ]
