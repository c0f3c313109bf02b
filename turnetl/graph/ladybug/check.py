"""Whether an embedded graph's file is as turnetl left it, and whether it can be read.

A damaged page can end the process that reads it. A file that is not known to be whole is therefore
read in another process first.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from turnetl.graph.ladybug import checksum
from turnetl.graph.ladybug.checksum import ChecksumMatch
from turnetl.graph.ladybug.file import lock_graph
from turnetl.graph.ladybug.probe import FileState, probe


@dataclass(frozen=True, slots=True)
class GraphFileCheck:
    """What was found of a file."""

    comparison: ChecksumMatch
    problem: str | None = None
    """Why it cannot be read, as the end of a sentence; None if it can."""
    is_emptied: bool = False
    """Whether it has no bytes, although it had some: the database reads it as a new graph."""


def check_file(path: Path) -> GraphFileCheck:
    """Compare a file with its checksum; read it in another process unless they are the same.

    Raises:
        GraphBusy: another process writes it.
        GraphUnusable: its lock cannot be used.
    """
    if not S_ISREG(path.stat().st_mode):
        return GraphFileCheck(ChecksumMatch.DAMAGED, "is no regular file")
    lock = lock_graph(path, write=False, sleep=time.sleep)
    try:
        comparison = checksum.compare(path)
        if comparison is ChecksumMatch.SAME:
            return GraphFileCheck(comparison)
        if comparison is ChecksumMatch.DAMAGED and not path.stat().st_size:
            return GraphFileCheck(comparison, "is empty, and was not before", is_emptied=True)
        return GraphFileCheck(comparison, _problem(probe(path, "rows")))
    except OSError as error:
        return GraphFileCheck(ChecksumMatch.DAMAGED, f"cannot be read ({error.strerror})")
    finally:
        if lock is not None:
            lock.close()


def _problem(state: FileState | None) -> str | None:
    match state:
        case FileState.CRASH | FileState.KILLED:
            return "ends the process that reads it"
        case FileState.UNREADABLE | None:
            return "cannot be read: it is damaged, or no graph"
        case _:
            return None
