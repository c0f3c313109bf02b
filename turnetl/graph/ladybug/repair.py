"""Open a Ladybug file whose last writer did not close it: its log may be damaged.

Only the caller has the file open; a reader may share it with readers. A file without a log was
closed, and is opened without a check. Else another process tries it first, because a damaged log
can end the process that replays it.
"""

import logging
import os
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ladybug

from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug import log as ladybug_log
from turnetl.graph.ladybug.database import (
    Unrecovered,
    cannot_open,
    check_version,
    open_database,
    values,
)
from turnetl.graph.ladybug.log import DiskSpace, DroppedTail
from turnetl.graph.ladybug.probe import FileState, probe

log = logging.getLogger(__name__)

_CRASHES = (FileState.CRASH, FileState.KILLED)


def open_for_reading(path: Path, *, low_memory: bool = False) -> Any:
    """Open the database; what cannot be replayed of its log is ignored, and stays.

    Arguments as of `open_database`.

    Raises:
        Unrecovered: a writer must repair it first.
        GraphBusy: another process has it open.
        GraphUnusable: it cannot be opened.
    """
    state = _state(path, write=False) if ladybug_log.log_files(path) else FileState.INTACT
    if state in _CRASHES:
        raise Unrecovered(f"cannot open graph `{path}`: its log is damaged")
    if state is not FileState.DAMAGED_LOG:
        return open_database(path, write=False, low_memory=low_memory)
    log.warning(_ignored(path))
    return open_database(path, write=False, strict=False, low_memory=low_memory)


def prepare_for_writing(path: Path, space: DiskSpace) -> None:
    """Check the version of an existing file, and repair it if its log is damaged.

    Raises:
        GraphBusy: another process has it open.
        GraphUnusable: it is of another version, or cannot be opened or repaired.
    """
    if not path.exists():
        return
    if not ladybug_log.log_files(path):
        check_version(path, low_memory=True)
        return
    state = _state(path, write=False)
    if state is FileState.UNREADABLE:
        return
    if state in (FileState.INTACT, FileState.DAMAGED_LOG):
        check_version(path, strict=state is FileState.INTACT)
    if state is FileState.INTACT:
        return
    space.check()
    if is_unrecovered := state is FileState.UNRECOVERED:
        state = _state(path, write=True)
    if state is not FileState.INTACT:
        # A full disk ends the process that opens the file too: that is no reason to cut its log.
        space.check()
        _repair(path, is_crash=state in _CRASHES, write=is_unrecovered)


def _state(path: Path, *, write: bool) -> FileState:
    state = probe(path, "write" if write else "read")
    if state is None:
        raise GraphUnusable(
            f"cannot check graph `{path}`: the process that opens it was stopped; try again"
        )
    return state


def _repair(path: Path, *, is_crash: bool, write: bool) -> None:
    """Cut off what cannot be replayed, and merge the rest of the log into the file.

    Every log is copied before it is cut.

    Args:
        path: of the database.
        is_crash: replaying the log ends the process.
        write: it was tried for writing.

    Raises:
        GraphUnusable: a log cannot be copied, or the file cannot be opened without it either.
    """
    logs = ladybug_log.log_files(path)
    contents = [file.read_bytes() for file in logs]
    copies = [_copy(file, path) for file in logs]
    if is_crash:
        _cut(path, logs, contents, write=write)
    ends = [ladybug_log.commit_ends(file.read_bytes()) for file in logs]
    with (
        closing(open_database(path, write=True, strict=False)) as database,
        closing(ladybug.Connection(database, num_threads=1)) as connection,
    ):
        groups = _groups(connection)
        # A log that was merged is removed.
        replayed = [
            file.stat().st_size if file.exists() else max(complete, default=0)
            for file, complete in zip(logs, ends, strict=True)
        ]
    for content, size, copy in zip(contents, replayed, copies, strict=True):
        if size < len(content):
            tail = ladybug_log.dropped_tail(content[size:], groups)
            log.warning(_dropped(path, tail, copy))
        else:
            copy.unlink()


def _copy(file: Path, path: Path) -> Path:
    try:
        return ladybug_log.copy_log(file)
    except OSError as error:
        raise GraphUnusable(
            f"the log of graph `{path}` is damaged, and cannot be repaired because no copy of it "
            f"can be written: {error.strerror}; make that possible, then repeat the command"
        ) from error


def _cut(path: Path, logs: Sequence[Path], contents: Sequence[bytes], *, write: bool) -> None:
    """Remove transactions from the end of the logs until the file can be opened.

    One by one, so that a kill on the way never leaves less than the file can be opened with.

    Raises:
        GraphUnusable: it cannot be opened without its logs either.
    """
    # The second log is the older one.
    for file, content in zip(logs, contents, strict=True):
        for end in (*reversed(ladybug_log.commit_ends(content)), 0):
            os.truncate(file, end)
            if (state := _state(path, write=write)) not in _CRASHES:
                return
            if state is FileState.KILLED:
                # More transactions may be intact: what is missing is memory.
                raise GraphUnusable(
                    f"cannot open graph `{path}`: the process that opens it is killed, probably "
                    "for lack of memory; stop other programs, then repeat the command"
                )
    raise GraphUnusable(cannot_open(path, "the database ends the process"))


def _groups(connection: Any) -> set[str]:
    has_groups = "TurnGroup" in values(connection, cypher.TABLES)
    return values(connection, cypher.GROUP_IDS) if has_groups else set()


def _ignored(path: Path) -> str:
    return (
        f"the log of graph `{path}` ends in an incomplete transaction, as after a kill or a full "
        "disk: it is not read, and the next command that writes the graph removes it"
    )


def _dropped(path: Path, tail: DroppedTail, copy: Path) -> str:
    written = datetime.fromtimestamp(copy.stat().st_mtime, UTC)
    names = [f"turn `{tail.turn}`"] if tail.turn else []
    names += [f"group `{group}`" for group in tail.groups]
    if tail.later_transactions:
        names.append(f"{tail.later_transactions:,} transactions after the damage")
    return (
        f"the log of graph `{path}` ended in an incomplete transaction, as after a kill or a full "
        f"disk: {tail.size:,} bytes are dropped ({', '.join(names) or 'no turn'}; last written "
        f"{written:%Y-%m-%d %H:%M:%S} UTC). Turns committed before it are in the graph; ingest "
        f"again to commit the rest. The damaged log is kept as `{copy.name}`"
    )
