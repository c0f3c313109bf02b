"""A filter for a log that repeats itself."""

from collections.abc import Callable
from logging import LogRecord


def unique_messages() -> Callable[[LogRecord], bool]:
    """Return a filter that lets each message of a log through once."""
    seen: set[str] = set()

    def is_new(record: LogRecord) -> bool:
        message = record.getMessage()
        new = message not in seen
        seen.add(message)
        return new

    return is_new
