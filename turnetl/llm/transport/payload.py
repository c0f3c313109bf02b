"""Values read out of JSON that a server sent: none of them is trusted to be there."""

from typing import Any

_MAX_TOKENS = 1_000_000_000
"""A larger number is not a token count, and no table column would hold it."""


def join_path(base_url: str, path: str) -> str:
    """Return the address of a path join_path a base URL; what follows a `?` stays at the end."""
    base, mark, query = base_url.partition("?")
    return f"{base.rstrip('/')}{path}{mark}{query}"


def nested(value: Any, *path: str | int) -> Any:
    """Follow keys and indexes through parsed JSON; None where the way ends."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def token_count(value: Any) -> int:
    """Return a number of tokens; 0 where there is none that can be meant."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MAX_TOKENS else 0


def text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
