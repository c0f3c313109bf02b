"""Parsing of times that agents write as text or as a number since 1970."""

from datetime import UTC, datetime

_DIGITS, _MAX_DIGITS = 9, 19
"""Digits from which on a text is a number since 1970, not a date, and of nanoseconds."""
_YEARS = (2000, 2200)
"""A number outside of this range is not a time."""
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
"""Ticks per second: seconds, milliseconds, microseconds, nanoseconds."""
# Bound once: a union takes as long to create as the check.
_NUMBERS = (int, float)
_FIRST, _LAST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in _YEARS)


def parse_time(text: object) -> datetime | None:
    """Return an ISO 8601 time as UTC, or None if it is not one. UTC is the default time zone."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_timestamp(value: object) -> datetime | None:
    """Return an ISO 8601 text, or a number since 1970 (or its text), as UTC; None if neither."""
    if isinstance(value, str):
        # Almost every text is a date with a time, which is longer.
        if len(value) > _MAX_DIGITS or len(value) < _DIGITS or not value.isdecimal():
            return parse_time(value)
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    candidates = (value / unit for unit in _UNITS)
    seconds = next((second for second in candidates if _FIRST <= second < _LAST), None)
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None else None


def latest(*times: datetime | None) -> datetime | None:
    """Return the latest of the times that are known, or None if none is."""
    return max((time for time in times if time is not None), default=None)
