"""The write-ahead log of a Ladybug file: where it is, where it can be cut, what was cut off.

The format was read from logs of Ladybug 0.22: a header, then records of a length (8 bytes), the
content and a checksum (8 bytes). A transaction ends with a record without variable content. A
string has its length (8 bytes) before it.
"""

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from turnetl.base import damaged_copies

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
    """Return the log to which transactions are written."""
    return path.with_name(f"{path.name}.wal")


def commit_ends(log: bytes) -> list[int]:
    """Return the offsets at which a transaction of the log ends, ascending."""
    return [match.end() for match in re.finditer(re.escape(COMMIT_RECORD), log)]


def dropped_tail(tail: bytes, groups: Iterable[str]) -> DroppedTail:
    """Describe the end of a log.

    Args:
        tail: what follows the last transaction that was replayed.
        groups: the groups of the graph.
    """
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
    """Copy the log beside itself, and return the copy; only the newest copies stay.

    A copy has at most about 16 MB.

    Raises:
        OSError: it cannot be copied.
    """
    copy = damaged_copies.copy_name(log)
    shutil.copy2(log, copy)
    # The log is cut next: after a power cut, one of the two must be complete.
    with copy.open("rb+") as file:
        os.fsync(file.fileno())
    damaged_copies.remove_old(log)
    return copy


def copies_of_logs(path: Path) -> list[Path]:
    """Return all copies of damaged logs of the database."""
    return [copy for log in log_names(path) for copy in damaged_copies.copies(log)]


def _string(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(8, "little") + encoded
