"""Parameters of Neo4j's statements, as the driver encodes them in the least time.

Each time it runs a statement, the driver makes the text of all its parameters, for a log of level
DEBUG, also if nobody reads that log: of the vectors of a turn, thousands of numbers. It needs 25 µs
to encode a time, and the facts of a turn have dozens, most of them equal.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, LiteralString

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


def with_shared_times(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a statement with `rows`; each time in them is sent once.

    In a row, a time is its position in the parameter `times`: see `row_with_times`.
    """
    positions: dict[datetime, int] = {}
    rows = [
        {
            name: positions.setdefault(value, len(positions))
            if isinstance(value, datetime)
            else value
            for name, value in row.items()
        }
        for row in parameters["rows"]
    ]
    return {**parameters, "rows": rows, "times": list(positions)}


def row_with_times(*times: LiteralString) -> LiteralString:
    """Return Cypher for `row`, one of `with_shared_times`, with these of its times as such."""
    return f"row {{.*, {', '.join(f'{time}: $times[row.{time}]' for time in times)}}}"


def abbreviated(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return equal parameters; the text of a list or dict among them takes no time."""
    return {name: _abbreviated(value) for name, value in parameters.items()}


def _abbreviated(value: Any) -> Any:
    if isinstance(value, list):
        return _Items(value)
    return _Fields(value) if isinstance(value, dict) else value
