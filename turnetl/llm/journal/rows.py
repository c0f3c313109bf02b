"""An answer as a row of the journal, and back."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from turnetl import ids
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.journal.key import request_chars

TABLE = """
CREATE TABLE answers (
    key TEXT NOT NULL PRIMARY KEY, -- digest of model, messages, schema and parameters
    prompt TEXT NOT NULL,          -- its name
    model TEXT NOT NULL,           -- provider and model
    kept_at TEXT NOT NULL,         -- UTC, ISO
    asked INTEGER NOT NULL,        -- characters of the messages
    calls INTEGER NOT NULL,        -- attempts until the answer fitted
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,         -- waited for it
    cost REAL,                     -- US dollars; null where no price is known
    cut INTEGER NOT NULL,          -- whether it did not fit; it is empty then
    used INTEGER NOT NULL,         -- how often it stood in for a call
    mark TEXT NOT NULL,            -- digest of key, answer and figures: is the row as it was kept
    answer BLOB NOT NULL           -- UTF-8
)
"""
COLUMNS = 15
READ = (
    "answer, mark, prompt, "
    "calls, prompt_tokens, completion_tokens, cached_tokens, seconds, cost, cut"
)
_MOST = 2**62
"""What SQLite can hold; a provider may say any number."""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """What is kept of a call; not the request itself, only its digest and size."""

    key: str
    values: tuple[Any, ...]
    """In the order of `TABLE`."""
    complete: ChatResponse
    """As it will be found."""
    kept_at: datetime


def to_row(
    key: str, request: ChatRequest, model: str, answer: ChatResponse, now: datetime
) -> JournalRow:
    said, figures = answer.text.encode("utf-8", "surrogatepass"), _figures(answer)
    names = (_plain(request.prompt_name), _plain(model))
    values = (key, *names, format_time(now), request_chars(request), *figures, 0)
    kept = replace(answer, from_journal=True)
    return JournalRow(key, (*values, _mark(key, said, figures), said), kept, now)


def to_response(key: str, read: Sequence[Any]) -> ChatResponse | None:
    """Return the answer of a row with the columns of `READ`; None if it is not as it was kept."""
    said, mark, _, *figures = read
    if not isinstance(said, bytes) or mark != _mark(key, said, figures):
        return None
    calls, prompt, completion, cached, seconds, cost, cut = figures
    return ChatResponse(
        text=said.decode("utf-8", "surrogatepass"),
        prompt_tokens=prompt,
        completion_tokens=completion,
        truncated=bool(cut),
        cached_tokens=cached,
        calls=calls,
        seconds=seconds,
        cost=cost,
        from_journal=True,
    )


def format_time(time: datetime) -> str:
    """Return a time as text that sorts as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def parse_time(said: str | None) -> datetime | None:
    """Return the time that a row says; None if it says none."""
    try:
        return datetime.fromisoformat(said) if said is not None else None
    except (ValueError, TypeError):
        return None


def _figures(answer: ChatResponse) -> tuple[int, int, int, int, float, float | None, int]:
    return (
        _count(answer.calls),
        _count(answer.prompt_tokens),
        _count(answer.completion_tokens),
        _count(answer.cached_tokens),
        _number(answer.seconds),
        None if answer.cost is None else _number(answer.cost),
        int(answer.truncated),
    )


def _count(said: int) -> int:
    return max(-_MOST, min(int(said), _MOST))


def _number(said: float) -> float:
    # SQLite would make nothing of a NaN, and of -0.0 another zero.
    return float(said) if math.isfinite(said) and said else 0.0


def _mark(key: str, said: bytes, figures: Sequence[Any]) -> str:
    return ids.digest(key, said, *map(repr, figures))[:16]


def _plain(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()
