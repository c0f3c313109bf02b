"""Known secrets in texts: all at once, as there may be as many as lines."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from turnetl.redact.spans import Span, occurrences

_HEAD = 8
"""Bytes by which places are looked up: a number has so many."""
_FEW = 16
"""Secrets that are quicker searched for one by one."""
_AT_ONCE = 4 << 20
"""Bytes that are looked at in one step: numbers of them take eight times as much."""
_BITS = 22
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio: multiplied by it, numbers that are near lie far apart."""

_Numbers = npt.NDArray[np.uint64]


class Known:
    """Secrets, each with the rule that found it."""

    def __init__(self, secrets: Mapping[bytes, str]) -> None:
        long = [secret for secret in secrets if len(secret) >= _HEAD]
        many = long if len(long) > _FEW else []
        self._many = {secret: secrets[secret] for secret in many}
        self._few = {secret: secrets[secret] for secret in secrets.keys() - self._many.keys()}
        self._lengths: dict[bytes, list[int]] = {}
        for secret in sorted(many, key=len, reverse=True):
            lengths = self._lengths.setdefault(secret[:_HEAD], [])
            if lengths[-1:] != [len(secret)]:
                lengths.append(len(secret))
        self._heads = np.unique(np.frombuffer(b"".join(self._lengths), np.uint64))
        self._marked = np.zeros(1 << _BITS if self._lengths else 0, np.bool_)
        self._marked[_slots(self._heads)] = True

    def spans(self, data: bytes) -> Iterator[Span]:
        """Yield where one stands; of several that begin in one place the longest."""
        yield from occurrences(data, self._few)
        for first in range(0, len(data) if self._many else 0, _AT_ONCE):
            for place in self._places(data[first : first + _AT_ONCE + _HEAD - 1]):
                yield from self._at(data, first + place)

    def _at(self, data: bytes, place: int) -> Iterator[Span]:
        for length in self._lengths[data[place : place + _HEAD]]:
            rule = self._many.get(data[place : place + length])
            if rule is not None:
                yield Span(place, place + length, rule)
                return

    def _places(self, data: bytes) -> list[int]:
        """Return where one may begin, as the first bytes are those of one."""
        found: list[int] = []
        for offset in range(min(_HEAD, len(data) - _HEAD + 1)):
            count = (len(data) - offset) // _HEAD
            numbers = np.frombuffer(data, np.uint64, count, offset)
            few = np.flatnonzero(self._marked[_slots(numbers)])
            at = np.searchsorted(self._heads, numbers[few]).clip(max=len(self._heads) - 1)
            held = few[self._heads[at] == numbers[few]]
            found += (held * _HEAD + offset).tolist()
        return sorted(found)


def _slots(numbers: _Numbers) -> _Numbers:
    slots: _Numbers = (numbers * _SPREAD) >> np.uint64(64 - _BITS)
    return slots
