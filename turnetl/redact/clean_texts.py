"""Texts in which nothing was found: a copy of one in a later archive need not be searched again.

A session that was resumed or forked repeats the texts of its parent, and every session those of its
tools.
"""

from collections.abc import Iterable, Mapping
from itertools import islice

_DIGESTED = 100
"""Characters from which on a text is remembered by a digest of 128 bits. Most are shorter."""
_REMEMBERED = 50_000
"""Texts that are remembered at least; twice as many take 20 MB if they are ASCII."""

_HALF = (1 << 64) - 1

TextKey = str | int
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


def _digest(text: str) -> int:
    # SipHash with a key of this process: the first half is known already, from the text as a key.
    # It takes a quarter of the time of SHA-256.
    return hash(text) << 64 | hash(text[1:]) & _HALF
