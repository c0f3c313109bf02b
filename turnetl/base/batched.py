"""Sequences in batches, and pairs in groups."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

K = TypeVar("K")
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


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return the second parts of pairs by the first ones, both in the order of the pairs."""
    groups: dict[K, list[T]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)
