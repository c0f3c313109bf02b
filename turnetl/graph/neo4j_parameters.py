"""Parameters of Neo4j's statements, which the driver need not write out.

Each time it runs a statement, the driver makes the text of all its parameters, for a log of level
DEBUG, also if nobody reads that log: of the vectors of a turn, thousands of numbers.
"""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override


class _Items(list[Any]):
    """A list whose text names its length only."""

    @override
    def __repr__(self) -> str:
        return f"[{len(self):,} items]"


class _Fields(dict[str, Any]):
    """A dict whose text names its keys only."""

    @override
    def __repr__(self) -> str:
        return f"{{{', '.join(self)}}}"


def abbreviated(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return equal parameters; the text of a list or dict among them takes no time."""
    return {name: _abbreviated(value) for name, value in parameters.items()}


def _abbreviated(value: Any) -> Any:
    if isinstance(value, list):
        return _Items(value)
    return _Fields(value) if isinstance(value, dict) else value
