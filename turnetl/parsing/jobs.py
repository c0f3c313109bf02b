"""What is to do for each archive. A run in which no archive changed imports none of the steps."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from turnetl.base.model import GroupId
from turnetl.lake import ArchiveMetadata
from turnetl.parsing.sources import ArchiveStat

_ARCHIVE_COST = 64 << 10
"""Bytes that are parsed in the CPU time of everything that is done once for an archive, such as
encoding its 36 columns. The wait for a slow disk is not counted: a process that only waits need not
be started, and with half a megabyte 700 small archives took two processes, and three times as long.
"""
_BATCH_COST = 16 << 20
"""Cost of a batch in bytes: about 250 ms, so that parallel processes finish at nearly the same
time. With a third of it, the setup of the secret search would take a tenth of all time."""


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """The turns files of an archive in the lake."""

    digest: str
    """The name of its turns file."""
    files: tuple[Path, ...] = ()
    """Its turns files, the newest last. Only a dry run leaves more than one."""
    metadata: ArchiveMetadata | None = None
    """Metadata of the newest turns file; None: there is none of this archive."""
    is_misplaced: bool = False
    """Whether the newest turns file is a whole one of another archive or group."""

    @property
    def group(self) -> GroupId | None:
        """The group of the newest turns file, whatever it holds; None: there is no file."""
        return GroupId(self.files[-1].parent.name) if self.files else None


@dataclass(frozen=True, slots=True)
class ArchiveJob:
    """An archive that must be opened."""

    stat: ArchiveStat
    stored: StoredArchive

    @property
    def cost(self) -> int:
        """The cost of the job in bytes: bytes to read, and a constant for each archive."""
        return self.stat.size + _ARCHIVE_COST


NumberedJob = tuple[int, ArchiveJob]
"""An archive's position in the report, and its job."""


def batches(jobs: Iterable[NumberedJob]) -> Iterator[tuple[NumberedJob, ...]]:
    """Yield the jobs, the largest first: one large archive, or many small ones together.

    Parallel processes so finish at nearly the same time, and copies of an archive, which are of the
    same size, are redacted together.
    """
    remaining = deque(sorted(jobs, key=lambda numbered: (-numbered[1].stat.size, numbered[0])))
    while remaining:
        yield tuple(_next_batch(remaining))


def _next_batch(remaining: deque[NumberedJob]) -> Iterator[NumberedJob]:
    cost = 0
    while remaining and (not cost or cost + remaining[0][1].cost <= _BATCH_COST):
        cost += remaining[0][1].cost
        yield remaining.popleft()
