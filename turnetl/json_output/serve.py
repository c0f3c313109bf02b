"""`turnetl serve --json`."""

from dataclasses import dataclass
from typing import Annotated

from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class ServeOutput:
    """Printed when connections are accepted, before the first one."""

    url: Annotated[
        str,
        described(
            "The address to open in a browser. It holds an access token that is new at each "
            "start: anyone who has the address can read the pages."
        ),
    ]
