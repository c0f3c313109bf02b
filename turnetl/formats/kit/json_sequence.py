"""An archive as JSON objects one after another, each over one line or several.

An object begins on a line that begins with a brace: what is inside one is indented, or stands on
the same line. So a broken object ends where the next one begins.
"""

from collections.abc import Iterator

_NEXT = b"\n{"


def pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of each object, blanks around it left out, and of what is none."""
    start, size = 0, len(data)
    while start < size:
        end = data.find(_NEXT, start) + 1 or size
        piece = data[start:end]
        raw = piece.strip()
        if raw:
            yield start + len(piece) - len(piece.lstrip()), raw
        start = end
