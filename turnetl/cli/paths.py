"""The options that take a path. An empty one is an error, and not the working directory.

A script whose variable is not set (`--output "$OUTPUT"`) would write there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token


def path(_type: Any, tokens: Sequence[Token]) -> Path:
    """Convert an option or an argument to a path."""
    if not tokens[0].value:
        raise ValueError  # `console.usage_errors` names what is accepted
    return Path(tokens[0].value)


NonEmptyPath = Annotated[Path, Parameter(converter=path)]
PathOption = Annotated[Path | None, Parameter(converter=path)]
