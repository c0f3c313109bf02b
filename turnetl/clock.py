"""The clock that command line and flows hand down; nothing below them reads one."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the time, aware and UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the one place


def as_utc(time: datetime | None) -> datetime | None:
    """Return a time that a person gave; without a zone it is taken as UTC."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
