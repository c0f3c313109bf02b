"""Times as tools write them: as text, or as a number since 1970."""

from datetime import UTC, datetime

from turnetl.formats.base import moment

_YEARS = (2000, 2200)
"""A number that would be a time outside of these is no time."""
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
"""Ticks a second: seconds, milliseconds, microseconds, nanoseconds."""
_FIRST, _LAST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in _YEARS)


def stamp(value: object) -> datetime | None:
    """Return an ISO 8601 text, or a number since 1970 in whatever unit, as UTC; None if neither."""
    if isinstance(value, str):
        return moment(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = (value / unit for unit in _UNITS)
    found = next((second for second in seconds if _FIRST <= second < _LAST), None)
    return datetime.fromtimestamp(found, UTC) if found is not None else None
