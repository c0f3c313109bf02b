"""Which archives a shard parses: first its own, then those that the other shards did not parse yet.

The key of an archive is that of its turns file, so that every path to it leads to the same shard.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from turnetl.base.shard import Shard
from turnetl.lake import archive_digests
from turnetl.parsing.expand import ExpandedPaths


def own_archives(shard: Shard | None, found: ExpandedPaths) -> ExpandedPaths:
    """Return the archives of the shard, with all problems; None: everything."""
    if shard is None:
        return found
    owned = [path for path, key in _keys(found.archives) if shard.owns(key)]
    return replace(found, archives=tuple(owned))


def other_archives(shard: Shard, found: ExpandedPaths) -> ExpandedPaths:
    """Return the archives of the other shards, without problems and without other files.

    They are in an order of this shard's own: shards that end early rarely read the same archives.
    """
    others = [(shard.rank(key), path) for path, key in _keys(found.archives) if not shard.owns(key)]
    return ExpandedPaths(tuple(path for _, path in sorted(others, reverse=True)), ())


def _keys(archives: Sequence[Path]) -> list[tuple[Path, str]]:
    return list(zip(archives, archive_digests(archives), strict=True))
