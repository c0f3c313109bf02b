"""The clock that the command line and the flows pass down. No code below them reads a clock."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the current time, aware and in UTC."""


def now() -> datetime:
    """Return the current time, aware and in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the only place that reads the clock


def encoded_time(time: datetime) -> str:
    """Return a time as ISO 8601 in UTC with `+00:00`; encoded times sort as text."""
    return time.astimezone(UTC).isoformat()


def as_utc(time: datetime | None) -> datetime | None:
    """Return a time that the user gave. A time without a zone is taken as UTC."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
