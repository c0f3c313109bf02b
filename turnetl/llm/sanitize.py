"""Responses as a graph can store them: no character that a database rejects, no invalid date.

The responses already match their schema. A schema cannot express these rules, and one such value
must not cost a turn.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u200b\u200c\u200d\ufeff\u2060\ud800-\udfff]")
"""Graphiti's clients remove the same characters from every prompt."""
_MAX_RELATION = 100
"""Characters."""
_MAX_FACT = 2000
"""Characters. A longer text is not one sentence."""
_DEFAULT_RELATION = "RELATES_TO"
"""Graphiti's own."""


def sanitized(value: Any, key: str = "") -> Any:
    """Return the parsed JSON with every text as a graph can store it.

    Args:
        value: the response, or its part under `key`.
        key: name of the field.
    """
    if isinstance(value, dict):
        return {name: sanitized(child, name) for name, child in value.items()}
    if isinstance(value, list):
        return [sanitized(child, key) for child in value]
    if isinstance(value, str):
        return _BY_KEY.get(key, strip_invisible)(value)
    return value


def strip_invisible(text: str) -> str:
    """Return the text without invisible characters, some of which databases reject."""
    return _INVISIBLE.sub("", text)


def _single_line(text: str) -> str:
    return " ".join(strip_invisible(text).split())


def _relation(text: str) -> str:
    return _single_line(text)[:_MAX_RELATION].strip() or _DEFAULT_RELATION


def _fact(text: str) -> str:
    return _single_line(text)[:_MAX_FACT]


def _timestamp(text: str) -> str | None:
    """Return the time if it is valid, in UTC too: the first day of the year 1 in Tokyo is not."""
    try:
        time = datetime.fromisoformat(text)
        (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return text


_BY_KEY: dict[str, Callable[[str], str | None]] = {
    "name": _single_line,
    "source_entity_name": _single_line,
    "target_entity_name": _single_line,
    "relation_type": _relation,
    "fact": _fact,
    "valid_at": _timestamp,
    "invalid_at": _timestamp,
}
