"""Texts in which nothing was found: a copy of one in a later archive need not be searched again.

A session that was resumed or forked repeats the texts of its parent, and every session those of its
tools.
"""

import hashlib
from collections.abc import Iterable, Mapping
from itertools import islice

_DIGESTED = 100
"""Characters from which on a text is remembered by its SHA-256. Most are shorter."""
_REMEMBERED = 50_000
"""Texts that are remembered at least; twice as many take 20 MB if they are ASCII."""

TextKey = str | bytes
"""What a text is remembered by: itself, or its digest."""


class CleanTexts:
    """Remembers the last texts that were found clean."""

    def __init__(self, size: int = _REMEMBERED) -> None:
        """Remember no text yet.

        Args:
            size: number of texts that are remembered at least; at most twice as many are.
        """
        self._size = size
        self._newer: set[TextKey] = set()
        self._older: set[TextKey] = set()

    def unknown(self, texts: Iterable[str]) -> dict[str, TextKey]:
        """Return the distinct texts that are not remembered, in their order, each with its key."""
        newer, older = self._newer, self._older
        keys = {
            text: text if len(text) < _DIGESTED else _digest(text) for text in dict.fromkeys(texts)
        }
        if not newer and not older:
            return keys
        return {text: key for text, key in keys.items() if key not in newer and key not in older}

    def add(self, clean: Mapping[str, TextKey]) -> None:
        """Remember texts, by their keys; of more than the size, the first ones."""
        if len(self._newer) + len(clean) > self._size:
            self._older, self._newer = self._newer, set()
        self._newer.update(islice(clean.values(), self._size))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
