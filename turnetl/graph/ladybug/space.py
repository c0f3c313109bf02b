"""Free disk space for a Ladybug file: the database aborts the process when a write does not fit."""

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from turnetl.base.errors import GraphUnusable
from turnetl.base.model import Change
from turnetl.graph.ladybug import log as ladybug_log

RESERVE = 64 << 20
"""Bytes that stay free for merging the log into the file."""
_MERGE_FACTOR = 4
"""Bytes that the file may need for each byte of the log."""
_ROW = 4096
"""Bytes of a row in the log, without its texts and vectors, at most."""


def free_bytes(folder: Path) -> float:
    """Return the free bytes on the disk of a folder; infinity if they are unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf


@dataclass(frozen=True)
class DiskSpace:
    """The free space on the disk of a database."""

    path: Path
    free_bytes: Callable[[Path], float] = free_bytes

    def check(self, size: int = 0) -> None:
        """Check that so many bytes can be logged and merged.

        Raises:
            GraphUnusable: the disk is full; says how to continue.
        """
        free, required = self._free(), RESERVE + _MERGE_FACTOR * (self._logged() + size)
        if free < required:
            raise GraphUnusable(
                f"the disk of graph `{self.path}` is full: {math.floor(free / 1e6):,} MB are free, "
                f"and a write needs {math.ceil(required / 1e6):,} MB; free some space, then repeat "
                "the command: committed turns stay, and it continues after them"
            )

    def can_merge(self) -> bool:
        """Return whether the log can be merged into the file."""
        return self._free() >= RESERVE // 2 + _MERGE_FACTOR * self._logged()

    def _free(self) -> float:
        return self.free_bytes(self.path.parent)

    def _logged(self) -> int:
        return sum(log.stat().st_size for log in ladybug_log.log_files(self.path))


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
