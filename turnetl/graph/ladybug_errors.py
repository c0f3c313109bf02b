"""Errors of Ladybug in messages."""

_MAX_CHARS = 160


def reason(error: RuntimeError) -> str:
    """Return the first line of an error, truncated: no text of a turn gets into a message."""
    return (str(error).splitlines() or [""])[0][:_MAX_CHARS]
