"""Reading JSON that a server sent: no field is assumed to be present or of the right type."""

from typing import Any

_MAX_TOKENS = 1_000_000_000
"""A larger number is not a token count, and no table column could store it."""


def join_path(base_url: str, path: str) -> str:
    """Return the base URL with a path appended; a query string stays at the end."""
    base, mark, query = base_url.partition("?")
    return f"{base.rstrip('/')}{path}{mark}{query}"


def nested(value: Any, *path: str | int) -> Any:
    """Return the value under a path of keys and indexes in parsed JSON; None if there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def token_count(value: Any) -> int:
    """Return a token count; 0 for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MAX_TOKENS else 0


def text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
