"""The formats that turnetl reads. One line each; the first that knows the bytes takes them."""

from turnetl.formats.base import Format
from turnetl.formats.claude_code import ClaudeCode

KNOWN: tuple[Format, ...] = (ClaudeCode(),)


def sniff(head: bytes) -> Format | None:
    """Return the format of an archive that starts like this, or None if none knows it."""
    return next((known for known in KNOWN if known.sniff(head)), None)
