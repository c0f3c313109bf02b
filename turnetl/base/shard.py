"""Shards: parts of the work of a run that separate processes, possibly on other machines, do.

Archives and groups are assigned by rendezvous hashing: no process needs to know of the others, and
another number of shards moves as few keys as possible.
"""

import re
from dataclasses import dataclass

from turnetl.base import ids
from turnetl.base.errors import BadUsage

_MOST = 10_000
_NUMBERS = re.compile(r"([0-9]{1,6})/([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a run that is divided into `count` parts.

    `Shard.parse("2/8")` is the second of eight.

    Raises:
        BadUsage: there is no such shard.
    """

    number: int
    """From 1."""
    count: int
    """Number of shards, at most 10,000."""

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count <= _MOST:
            raise _no_shard(str(self))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the shard that a text such as `2/8` names.

        Raises:
            BadUsage: it names none.
        """
        match = _NUMBERS.fullmatch(text.strip())
        if match is None:
            raise _no_shard(text)
        return cls(int(match[1]), int(match[2]))

    def owns(self, key: str) -> bool:
        """Return whether a key is assigned to this shard; to exactly one of `count` it is."""
        own = self.rank(key)
        # Most shards lose against one of the first others: about ln(count) digests for a key.
        return all(
            own > _rank(key, number) for number in range(1, self.count + 1) if number != self.number
        )

    def rank(self, key: str) -> str:
        """Return the weight of the key for this shard. The highest rank owns the key."""
        return _rank(key, self.number)


def _rank(key: str, number: int) -> str:
    return ids.digest("shard", key, str(number))


def _no_shard(text: str) -> BadUsage:
    return BadUsage(
        f"`{text}` is no shard: write its number, from 1, and the number of shards (at most "
        f"{_MOST:,}), for example `--shard 2/8`"
    )
