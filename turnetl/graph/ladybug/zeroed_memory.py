"""Zeroed memory for Ladybug while it writes, so that its file holds nothing else of the process.

Ladybug writes whole pages of which it filled a part. The rest is what the process had freed:
perhaps a secret before redaction, or a turn that is forgotten. Only glibc can zero what it hands
out; elsewhere the rest stays as it is (docs/security.md). It does while a log is merged that a kill
left, too: a damaged length in it asks for more memory than there is, which zeroing would take.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import ladybug

from turnetl.base.glibc import M_PERTURB, find_mallopt
from turnetl.graph.ladybug.log import log_files

_ZEROED = 0xFF
"""glibc fills what it hands out with the complement of this byte."""


_mallopt = find_mallopt()
IS_SUPPORTED = _mallopt is not None


@contextmanager
def zeroed_memory() -> Generator[None]:
    """Hand out zeroed memory in the block, to all threads; not what is smaller than a page."""
    if _mallopt is None:
        yield
        return
    _mallopt(M_PERTURB, _ZEROED)
    try:
        yield
    finally:
        _mallopt(M_PERTURB, 0)


class WritableDatabase(ladybug.Database):
    """A database whose connections, and whose end, write pages of zeroed memory."""

    def __init__(self, path: str, **kwargs: Any) -> None:
        """Open it; arguments as of `ladybug.Database`. What is left of its log is merged."""
        with nullcontext() if log_files(Path(path)) else zeroed_memory():
            super().__init__(path, **kwargs)

    def close(self) -> None:
        with zeroed_memory():
            super().close()


class WritableConnection(ladybug.Connection):
    """Prepares each statement once for parameters of the same types.

    The library compares the types of all parameters with those of earlier calls, number by number
    of an embedding: that takes as long as the statement.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._statements: dict[tuple[str, _Types], ladybug.PreparedStatement] = {}

    def execute(self, query: Any, parameters: dict[str, Any] | None = None) -> Any:
        with zeroed_memory():
            return super().execute(self._prepared(query, parameters or {}), parameters)

    def close(self) -> None:
        self._statements.clear()
        super().close()

    def _prepared(self, query: str, parameters: Mapping[str, Any]) -> Any:
        """Return the prepared statement, or the query if its parameters may have other types."""
        types = _types(parameters)
        if types is None:
            return query
        statement = self._statements.get((query, types))
        if statement is None:
            statement = ladybug.PreparedStatement(self, query, dict(parameters))
            if not statement.is_success():
                return query
            self._statements[query, types] = statement
        return statement


_Types: TypeAlias = tuple[tuple[str, frozenset[type]], ...]
_SIMPLE = frozenset({str, float, datetime})
"""Types whose values all have the same type in the database; it has several for integers."""


def _types(parameters: Mapping[str, Any]) -> _Types | None:
    """Return the type of each parameter, of a list that of its elements; None if it is unclear."""
    if not parameters:
        return None
    types = []
    for name, value in parameters.items():
        is_list = type(value) is list
        of_value = frozenset(map(type, value)) if is_list else frozenset((type(value),))
        if len(of_value) != 1 or not of_value <= _SIMPLE:
            return None
        types.append((f"[{name}" if is_list else name, of_value))
    return tuple(types)
