"""The write-ahead log of a Ladybug file: where it is, where it can be cut, what was cut off.

The format was read from logs of Ladybug 0.22: a header, then records of a length (8 bytes), the
content and a checksum (8 bytes). A transaction ends with a record without variable content. A
string has its length (8 bytes) before it.

The database aborts the process when a write does not fit on the disk: the space is checked before.
"""

import math
import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from turnetl.base import damaged_copies
from turnetl.base.disks import free_bytes
from turnetl.base.errors import GraphUnusable
from turnetl.base.model import Change

RESERVE = 64 << 20
"""Bytes that stay free for merging the log into the file."""
_MERGE_FACTOR = 4
"""Bytes that the file may need for each byte of the log."""
_ROW = 4096
"""Bytes of a row in the log, without its texts and vectors, at most."""


@dataclass(frozen=True)
class DiskSpace:
    """The free space on the disk of a database."""

    path: Path
    free_bytes: Callable[[Path], float] = free_bytes

    def check(self, size: int = 0) -> None:
        """Check that `size` bytes can be logged and merged.

        Raises:
            GraphUnusable: the disk is full; says how to continue.
        """
        free = self.free_bytes(self.path.parent)
        required = RESERVE + _MERGE_FACTOR * (self._logged() + size)
        if free < required:
            raise GraphUnusable(
                f"the disk of graph `{self.path}` is full: {math.floor(free / 1e6):,} MB are free, "
                f"and a write needs {math.ceil(required / 1e6):,} MB; free some space, then repeat "
                "the command: committed turns stay, and it continues after them"
            )

    def can_merge(self) -> bool:
        required = RESERVE // 2 + _MERGE_FACTOR * self._logged()
        return self.free_bytes(self.path.parent) >= required

    def _logged(self) -> int:
        return sum(log.stat().st_size for log in log_files(self.path))


def change_size(change: Change) -> int:
    """Return how many bytes the commit of the change logs, at most about."""
    entities = (*change.entities, *change.entities_before)
    facts = (*change.facts, *change.facts_before)
    texts = [change.episode.text, *change.episode.chunks]
    texts += [text for entity in entities for text in (entity.name, entity.summary)]
    texts += [text for fact in facts for text in (fact.text, *fact.turns)]
    texts += [change.summaries, *change.summary_texts.values()]
    vectors = [len(entity.embedding or b"") for entity in entities]
    vectors += [len(fact.embedding or b"") for fact in facts]
    rows = len(texts) + len(vectors)
    return _ROW * rows + sum(4 * len(text) for text in texts) + 2 * sum(vectors)


COMMIT_RECORD = bytes.fromhex("0900000000000000 020000000000000000 517d1de0b202d058")

_TURN_ID = re.compile(rb"\x24\0{7}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


@dataclass(frozen=True)
class DroppedTail:
    """The end of a log that could not be replayed."""

    size: int
    """In bytes."""
    later_transactions: int
    """Complete transactions after the damage: none if only the end of the log is damaged."""
    turn: str | None
    """Id of the turn whose transaction is incomplete; None if too little of it was written."""
    groups: tuple[str, ...]
    """The groups that it names, sorted."""


def log_names(path: Path) -> tuple[Path, Path]:
    """Return the log of the database, and the older one whose merge into the file has begun."""
    return active_log(path), path.with_name(f"{path.name}.wal.checkpoint")


def log_files(path: Path) -> list[Path]:
    """Return the logs of the database that exist and are not empty, the newest first."""
    return [log for log in log_names(path) if log.is_file() and log.stat().st_size > 0]


def active_log(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def commit_ends(log: bytes) -> list[int]:
    """Return the offsets at which a transaction of the log ends, ascending."""
    return [match.end() for match in re.finditer(re.escape(COMMIT_RECORD), log)]


def dropped_tail(tail: bytes, groups: Iterable[str]) -> DroppedTail:
    """Describe what follows the last transaction that was replayed; `groups` are the graph's."""
    # The first row of a commit is its Episodic, whose key is that of the turn.
    turn = _TURN_ID.search(tail)
    named = (group for group in groups if _string(group) in tail)
    return DroppedTail(
        size=len(tail),
        later_transactions=len(commit_ends(tail)),
        turn=turn[1].decode() if turn else None,
        groups=tuple(sorted(named)),
    )


def copy_log(log: Path) -> Path:
    """Copy the log, at most about 16 MB, beside itself; only the newest copies stay."""
    copy = damaged_copies.copy_name(log)
    shutil.copy2(log, copy)
    # The log is cut next: after a power cut, one of the two must be complete.
    with copy.open("rb+") as file:
        os.fsync(file.fileno())
    damaged_copies.remove_old(log)
    return copy


def _string(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(8, "little") + encoded
