"""Passwords and keys in URLs, masked wherever settings are shown."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel

MASK = "********"


class MaskedModel(BaseModel):
    """A model in whose representation URLs are masked, as in a log or a traceback."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, shown_text(value) if isinstance(value, str) else value


def shown_text(value: str) -> str:
    """Return a text, masked if it is a URL; one of an embedded graph is a path."""
    is_secret = "://" in value and not value.startswith("ladybug://")
    return masked_url(value) if is_secret else value


def masked_url(url: str) -> str:
    """Return a URL without its password, the values of its query, and its fragment."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return MASK
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    # A service may take its key as the user of a URL, without a password.
    is_key = bool(user) and not colon and parts.scheme in ("http", "https")
    netloc = f"{MASK if is_key else user}{colon}{MASK if colon else ''}{at}{host}"
    names = [(name, MASK) for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    # Without `=` the query itself may be the key.
    is_named = "=" in parts.query
    query = urlencode(names, safe="*") if is_named else parts.query and MASK
    fragment = parts.fragment and MASK
    return urlunsplit((parts.scheme, netloc, parts.path, query, fragment))
