"""Patterns that are compiled at their first use: a run in which no archive changed uses none."""

import re
from typing import Any, AnyStr, Generic, cast


class _LatePattern(Generic[AnyStr]):
    """A pattern that takes over the attributes of the compiled one when they are first used."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Kept as an attribute of its own: the next use costs what one of a compiled pattern costs.
        value = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, value)
        return value


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern for its own methods only: the functions of `re` do not take it."""
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))
