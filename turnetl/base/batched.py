"""Sequences in batches, as `itertools.batched` of Python 3.12 gives them."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield slices of at most that many items, in order."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
