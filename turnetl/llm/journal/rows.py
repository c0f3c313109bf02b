"""A response as a row of the journal, and back; the key of a request."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from turnetl.base import ids
from turnetl.llm.chat import ChatRequest, ChatResponse

TABLE = """
CREATE TABLE responses (
    key TEXT NOT NULL PRIMARY KEY, -- digest of model, messages, schema and parameters
    prompt_name TEXT NOT NULL,
    model TEXT NOT NULL,           -- provider and model
    stored_at TEXT NOT NULL,       -- UTC, ISO
    characters INTEGER NOT NULL,   -- of the request's messages
    calls INTEGER NOT NULL,        -- attempts until the response was valid
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,         -- latency
    cost REAL,                     -- US dollars; null if the price is unknown
    truncated INTEGER NOT NULL,    -- whether the response was; its text is empty then
    hits INTEGER NOT NULL,         -- cache hits
    checksum TEXT NOT NULL,        -- digest of key, response and usage
    response BLOB NOT NULL         -- UTF-8
)
"""
CLAIMS_TABLE = """
CREATE TABLE IF NOT EXISTS claims (
    key TEXT NOT NULL PRIMARY KEY, -- of a request that has no response yet
    owner TEXT NOT NULL,           -- the process that sends it
    until REAL NOT NULL            -- seconds since 1970; then another process may send it
)
"""
COLUMNS = 15
READ = (
    "response, checksum, prompt_name, "
    "calls, prompt_tokens, completion_tokens, cached_tokens, seconds, cost, truncated"
)
_MAX_INTEGER = 2**62
"""The range of SQLite; a provider may report any number."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """A response with a digest and the size of its request, not the request itself."""

    key: str
    values: tuple[Any, ...]
    """The values of the row, in the column order of `TABLE`."""
    response: ChatResponse
    """The response as a lookup returns it."""
    stored_at: datetime


def to_row(
    key: str, request: ChatRequest, model: str, response: ChatResponse, now: datetime
) -> JournalRow:
    text, usage = response.text.encode("utf-8", "surrogatepass"), usage_fields(response)
    names = (_encodable(request.prompt_name), _encodable(model))
    values = (key, *names, format_time(now), request.characters, *usage, 0)
    stored = replace(response, cache_write_tokens=0)
    return JournalRow(key, (*values, checksum(key, text, usage), text), stored, now)


def to_response(key: str, row: Sequence[Any]) -> ChatResponse | None:
    """Return the response of a row with the columns of `READ`; None if the row is damaged."""
    text, stored, _, *usage = row
    if not isinstance(text, bytes) or stored != checksum(key, text, usage):
        return None
    calls, prompt, completion, cached, seconds, cost, truncated = usage
    return ChatResponse(
        text=text.decode("utf-8", "surrogatepass"),
        prompt_tokens=prompt,
        completion_tokens=completion,
        truncated=bool(truncated),
        cached_tokens=cached,
        calls=calls,
        seconds=seconds,
        cost=cost,
    )


def format_time(time: datetime) -> str:
    """Return a time as text that sorts like the time."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def parse_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text is not None else None
    except (ValueError, TypeError):
        return None


def usage_fields(response: ChatResponse) -> tuple[int, int, int, int, float, float | None, int]:
    """Return the usage of a response as it is stored: from `calls` to `truncated`."""
    return (
        _integer(response.calls),
        _integer(response.prompt_tokens),
        _integer(response.completion_tokens),
        _integer(response.cached_tokens),
        _real(response.seconds),
        None if response.cost is None else _real(response.cost),
        int(response.truncated),
    )


def _integer(value: int) -> int:
    return max(-_MAX_INTEGER, min(int(value), _MAX_INTEGER))


def _real(value: float) -> float:
    # SQLite stores NaN as null, and -0.0 as 0.0.
    return float(value) if math.isfinite(value) and value else 0.0


def checksum(key: str, text: bytes, usage: Sequence[Any]) -> str:
    """Return the digest of a response and its `usage_fields`."""
    return ids.digest(key, text, *map(repr, usage))[:16]


def _encodable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


_VERSION = "journal/1"


# A request has a key when it runs ahead, in the journal, and again when its turn is committed.
@lru_cache(maxsize=200)
def request_key(model_name: str, request: ChatRequest, parameters: str = "") -> str:
    """Return 32 hex digits: equal requests have equal keys on every machine and in every run.

    It digests the model with its provider, the parameters sent with every request, and all that is
    sent in this one. Not included: the name of the prompt, the pydantic class that validates the
    response, and the order of the keys in the schema. Providers do not receive them.
    """
    header = (model_name, parameters, str(request.max_tokens))
    return ids.digest(_VERSION, *header, *_content(request))


def _content(request: ChatRequest) -> Iterator[str | bytes]:
    yield request.schema.name if request.schema is not None else ""
    yield request.schema.canonical if request.schema is not None else b""
    for message in request.messages:
        yield message.role
        yield message.text
