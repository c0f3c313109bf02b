"""Sequences in batches."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield slices of at most that many items, in order, as `itertools.batched` of Python 3.12."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def batched_by_size(
    items: Sequence[T], sizes: Iterable[int], *, size: int, count: int | None = None
) -> Iterator[Sequence[T]]:
    """Yield slices of at most that size together and that many items; a larger item is alone."""
    start = total = 0
    for index, own in enumerate(sizes):
        if index > start and (index - start == count or total + own > size):
            yield items[start:index]
            start, total = index, 0
        total += own
    if items:
        yield items[start:]
