"""An archive of concatenated JSON objects, each on one line or on several.

An object starts on a line that starts with a brace. Nested objects are indented or are on the same
line. An invalid object therefore ends where the next one starts.
"""

from collections.abc import Iterator

_NEXT = b"\n{"


def split_objects(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of each object, or of invalid content, stripped of whitespace."""
    start, size = 0, len(data)
    while start < size:
        end = data.find(_NEXT, start) + 1 or size
        chunk = data[start:end]
        raw = chunk.strip()
        if raw:
            yield start + len(chunk) - len(chunk.lstrip()), raw
        start = end
