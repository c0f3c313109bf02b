"""Answers as a graph can hold them: no sign that a database refuses, no date that is none.

They fit their form already. What is mended here no form can forbid, and one answer like it must not
cost a turn.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u200b\u200c\u200d\ufeff\u2060\ud800-\udfff]")
"""What Graphiti's clients take out of every prompt, too."""
_LONGEST_KIND = 100
_LONGEST_FACT = 2000
"""Characters: what is longer is no sentence."""
_NO_KIND = "RELATES_TO"
"""Graphiti's own."""


def sanitized(value: Any, key: str = "") -> Any:
    """Return the parsed JSON with every text as a graph can hold it.

    Args:
        value: the answer, or what is in it under `key`.
        key: what it is.
    """
    if isinstance(value, dict):
        return {name: sanitized(below, name) for name, below in value.items()}
    if isinstance(value, list):
        return [sanitized(below, key) for below in value]
    if isinstance(value, str):
        return _BY_KEY.get(key, strip_invisible)(value)
    return value


def strip_invisible(text: str) -> str:
    """Return the text without signs that nobody sees and some databases refuse."""
    return _INVISIBLE.sub("", text)


def _line(text: str) -> str:
    return " ".join(strip_invisible(text).split())


def _kind(text: str) -> str:
    return _line(text)[:_LONGEST_KIND].strip() or _NO_KIND


def _fact(text: str) -> str:
    return _line(text)[:_LONGEST_FACT]


def _moment(text: str) -> str | None:
    """Return the time if it is one, also in UTC: the first day of the year 1 in Tokyo is not."""
    try:
        moment = datetime.fromisoformat(text)
        (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return text


_BY_KEY: dict[str, Callable[[str], str | None]] = {
    "name": _line,
    "source_entity_name": _line,
    "target_entity_name": _line,
    "relation_type": _kind,
    "fact": _fact,
    "valid_at": _moment,
    "invalid_at": _moment,
}
