"""Archives and groups in packs of about equal size, for the tasks of a cluster."""

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def packed(sizes: Mapping[T, int], count: int) -> list[tuple[T, ...]]:
    """Return at most `count` packs of all items, the largest pack first; none is empty.

    Args:
        sizes: the size of each item, in any unit, at least 0.
        count: number of packs, at least 1.
    """
    # The largest first, each into the smallest pack so far.
    packs: list[list[T]] = [[] for _ in range(min(count, len(sizes)))]
    totals = [0] * len(packs)
    for item in sorted(sizes, key=lambda one: -sizes[one]):
        smallest = totals.index(min(totals))
        packs[smallest].append(item)
        totals[smallest] += sizes[item] + 1
    by_size = sorted(range(len(packs)), key=lambda number: -totals[number])
    return [tuple(packs[number]) for number in by_size]
