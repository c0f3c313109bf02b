"""Search for known secrets in texts, all in one pass: there may be as many secrets as lines."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from turnetl.redact.spans import Span, occurrences

_HEAD_BYTES = 8
"""Bytes by which secrets are looked up: the size of a 64-bit number."""
_FEW = 16
"""Number of secrets up to which a search for each is faster."""
_CHUNK_BYTES = 4 << 20
"""Bytes scanned in one step: as 64-bit numbers they take eight times as much memory."""
_BITS = 22
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio: multiplication by it spreads close numbers over all slots."""

_Numbers = npt.NDArray[np.uint64]


class ExactMatcher:
    """Finds known secrets, each with the rule that found it first."""

    def __init__(self, secrets: Mapping[bytes, str]) -> None:
        long = [secret for secret in secrets if len(secret) >= _HEAD_BYTES]
        many = long if len(long) > _FEW else []
        self._many = {secret: secrets[secret] for secret in many}
        self._few = {secret: secrets[secret] for secret in secrets.keys() - self._many.keys()}
        self._lengths: dict[bytes, list[int]] = {}
        for secret in sorted(many, key=len, reverse=True):
            lengths = self._lengths.setdefault(secret[:_HEAD_BYTES], [])
            if lengths[-1:] != [len(secret)]:
                lengths.append(len(secret))
        self._heads = np.unique(np.frombuffer(b"".join(self._lengths), np.uint64))
        self._used_slots = np.zeros(1 << _BITS if self._lengths else 0, np.bool_)
        self._used_slots[_slots(self._heads)] = True

    def spans(self, data: bytes) -> Iterator[Span]:
        """Yield the place of each secret; of several with the same start, the longest."""
        yield from occurrences(data, self._few)
        for first in range(0, len(data) if self._many else 0, _CHUNK_BYTES):
            for start in self._candidates(data[first : first + _CHUNK_BYTES + _HEAD_BYTES - 1]):
                yield from self._longest_at(data, first + start)

    def _longest_at(self, data: bytes, start: int) -> Iterator[Span]:
        for length in self._lengths[data[start : start + _HEAD_BYTES]]:
            rule = self._many.get(data[start : start + length])
            if rule is not None:
                yield Span(start, start + length, rule)
                return

    def _candidates(self, data: bytes) -> list[int]:
        """Return the places whose first bytes are those of a secret."""
        candidates: list[int] = []
        for offset in range(min(_HEAD_BYTES, len(data) - _HEAD_BYTES + 1)):
            count = (len(data) - offset) // _HEAD_BYTES
            numbers = np.frombuffer(data, np.uint64, count, offset)
            possible = np.flatnonzero(self._used_slots[_slots(numbers)])
            indexes = np.searchsorted(self._heads, numbers[possible])
            indexes = indexes.clip(max=len(self._heads) - 1)
            matching = possible[self._heads[indexes] == numbers[possible]]
            candidates += (matching * _HEAD_BYTES + offset).tolist()
        return sorted(candidates)


def _slots(numbers: _Numbers) -> _Numbers:
    slots: _Numbers = (numbers * _MULTIPLIER) >> np.uint64(64 - _BITS)
    return slots
