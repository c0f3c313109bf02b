"""A scanner for JSON that is truncated or damaged: it reads values up to the first error."""

import json
from collections.abc import Iterator


class JsonScanner:
    """Reads JSON token by token and stops for good at the first invalid value."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8", "surrogateescape")
        self._json = json.JSONDecoder()
        self._position = 0
        self._bytes = 0
        self._counted = 0
        self.invalid_at: int | None = None
        """Byte offset of the first invalid value."""

    def skip(self, token: str) -> bool:
        """Skip a bracket or a colon if it is the next token; return whether it is."""
        self._skip_whitespace()
        if not self._text.startswith(token, self._position):
            return False
        self._position += 1
        return True

    def end(self) -> None:
        """Record any remaining content as invalid."""
        self._skip_whitespace()
        if self.invalid_at is None and self._position < len(self._text):
            self.invalid_at = self._offset(self._position)

    def value(self) -> tuple[int, bytes] | None:
        """Read a value; return its offset and bytes, or None if it is invalid."""
        self._skip_whitespace()
        start = self._position
        try:
            _, self._position = self._json.raw_decode(self._text, start)
        except (ValueError, RecursionError):
            self.invalid_at = self._offset(start)
            return None
        return self._offset(start), self._text[start : self._position].encode(
            "utf-8", "surrogateescape"
        )

    def values(self, close: str) -> Iterator[tuple[int, bytes]]:
        """Yield the values up to the closing bracket."""
        while self._has_next(close):
            value = self.value()
            if value is not None:
                yield value

    def field_names(self) -> Iterator[str]:
        """Yield the keys up to the closing brace. The caller must read the value of each."""
        while self._has_next("}"):
            key = self.value()
            if key is None or not self.skip(":"):
                self.invalid_at = self._offset(self._position)
                return
            yield str(json.loads(key[1].decode("utf-8", "replace")))

    def _has_next(self, close: str) -> bool:
        self._skip_whitespace()
        if self.invalid_at is not None:
            return False
        if self._text.startswith(",", self._position):
            self._position += 1
            self._skip_whitespace()
        if self._text.startswith(close, self._position):
            self._position += 1
            return False
        if self._position >= len(self._text):
            self.invalid_at = self._offset(self._position)
        return self.invalid_at is None

    def _skip_whitespace(self) -> None:
        while self._text[self._position : self._position + 1] in tuple(" \t\r\n"):
            self._position += 1

    def _offset(self, position: int) -> int:
        """Return the offset in bytes. With rising arguments, every byte is counted once."""
        if position < self._counted:
            self._counted = self._bytes = 0
        passed = self._text[self._counted : position].encode("utf-8", "surrogateescape")
        self._bytes, self._counted = self._bytes + len(passed), position
        return self._bytes
