"""Texts in which nothing was found: a copy of one in a later archive need not be searched again.

A session that was resumed or forked repeats the texts of its parent, and every session those of its
tools.
"""

import hashlib
from collections.abc import Iterable, Mapping

_DIGESTED = 100
"""Characters from which on a text is remembered by its SHA-256. Most are shorter."""
_REMEMBERED = 50_000
"""Texts after which the older half is forgotten: at most 20 MB, for a hundred of archives."""

TextKey = str | bytes
"""What a text is remembered by: itself, or its digest."""


class CleanTexts:
    """Remembers the last texts that were found clean."""

    def __init__(self, size: int = _REMEMBERED) -> None:
        """Remember no text yet.

        Args:
            size: number of texts that are always remembered; at most twice as many are.
        """
        self._size = size
        self._newer: set[TextKey] = set()
        self._older: set[TextKey] = set()

    def unknown(self, texts: Iterable[str]) -> dict[str, TextKey]:
        """Return the distinct texts that are not remembered, in their order, each with its key."""
        newer, older = self._newer, self._older
        keys = {text: _key(text) for text in dict.fromkeys(texts)}
        return {text: key for text, key in keys.items() if key not in newer and key not in older}

    def add(self, clean: Mapping[str, TextKey]) -> None:
        """Remember texts, by their keys."""
        for key in clean.values():
            if len(self._newer) >= self._size:
                self._older, self._newer = self._newer, set()
            self._newer.add(key)


def _key(text: str) -> TextKey:
    if len(text) < _DIGESTED:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
