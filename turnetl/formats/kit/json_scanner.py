"""JSON read as far as it goes."""

import json
from collections.abc import Iterator


class Scan:
    """Walks over JSON that may end anywhere. Stands still for good at what is none."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8", "surrogateescape")
        self._json = json.JSONDecoder()
        self._at = 0
        self._bytes = 0
        self._counted = 0
        self.broken_at: int | None = None

    def opens(self, sign: str) -> bool:
        """Step over a bracket or a colon, if it comes next."""
        self._blanks()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += 1
        return True

    def ends(self) -> None:
        """Note as broken whatever still comes."""
        self._blanks()
        if self.broken_at is None and self._at < len(self._text):
            self.broken_at = self._offset(self._at)

    def value(self) -> tuple[int, bytes] | None:
        """Step over a value; return its offset and bytes, or None if it is broken."""
        self._blanks()
        start = self._at
        try:
            _, self._at = self._json.raw_decode(self._text, start)
        except (ValueError, RecursionError):
            self.broken_at = self._offset(start)
            return None
        return self._offset(start), self._text[start : self._at].encode("utf-8", "surrogateescape")

    def values(self, close: str) -> Iterator[tuple[int, bytes]]:
        """Yield the values up to the closing bracket."""
        while self._goes_on(close):
            value = self.value()
            if value is not None:
                yield value

    def names(self) -> Iterator[str]:
        """Yield the keys up to the closing brace; each one's value is the caller's to take."""
        while self._goes_on("}"):
            name = self.value()
            if name is None or not self.opens(":"):
                self.broken_at = self._offset(self._at)
                return
            yield str(json.loads(name[1].decode("utf-8", "replace")))

    def _goes_on(self, close: str) -> bool:
        self._blanks()
        if self.broken_at is not None:
            return False
        if self._text.startswith(",", self._at):
            self._at += 1
            self._blanks()
        if self._text.startswith(close, self._at):
            self._at += 1
            return False
        if self._at >= len(self._text):
            self.broken_at = self._offset(self._at)
        return self.broken_at is None

    def _blanks(self) -> None:
        while self._text[self._at : self._at + 1] in tuple(" \t\r\n"):
            self._at += 1

    def _offset(self, at: int) -> int:
        """Return the offset in bytes; asked in rising order, every byte is counted once."""
        if at < self._counted:
            self._counted = self._bytes = 0
        passed = self._text[self._counted : at].encode("utf-8", "surrogateescape")
        self._bytes, self._counted = self._bytes + len(passed), at
        return self._bytes
