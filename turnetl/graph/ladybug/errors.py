"""Errors of Ladybug in messages."""

import msgspec

DAMAGE = (UnicodeError, msgspec.DecodeError, MemoryError, OverflowError)
"""Errors of a file that holds a wrong length or wrong text: no statement causes them."""
_MAX_CHARS = 160


def reason(error: Exception) -> str:
    """Return the first line of an error, truncated: no text of a turn gets into a message."""
    return (str(error).splitlines() or [""])[0][:_MAX_CHARS]
