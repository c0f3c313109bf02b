"""The states that a killed command leaves, and which of them are one.

SIGKILL leaves what the command changed outside of its process: the files of the lake, what it sent
to the graph's server, and what it sent to the provider. Nothing else outlives it: memory, locks of
files and connections end with the process, and the server ends its transaction. Therefore all
points between two changes are one state. A suspension or a resumption of a task, a read of a
connection and a sync (all processes see what was written, synced or not) change nothing. It does
not matter when the server carries out what it was sent: before that, the state is that before the
change, and after it that at the next change, and both are tried.

Two states are the same if they have the same bytes in every file of the lake, after two steps:

- The merge of an embedded graph's log is thousands of changes, one for each page. While it goes on
  no reader can open the file, so that the first thing that any command does with it is to complete
  the merge, in a process that only does that. The states are compared after it.
- Of the files of an incomplete copy of the graph (`forget`) only the names are compared: they are
  deleted before anything reads them.

Two threads of a command may make their changes in another order in another run. A trial then tries
the state of that order.
"""

import hashlib
import os
import shutil
from pathlib import Path

import msgspec

from turnetl.graph import ladybug_log
from turnetl.graph.ladybug_probe import FileState, try_open

_GRAPH = "graph.lbug"
_COPY = f"{_GRAPH}.rewritten"

_READABLE = 99
"""An exit code that is no `FileState`."""


class State(msgspec.Struct, frozen=True):
    """A state in which a command may die."""

    change: int
    """After which it is left; 0: before the first one."""
    changes: int
    """That leave the same state, this one included."""
    points: int
    """Of the command, in which it is in this state."""


def key_after(change: int, lake: Path, copy: Path) -> str:
    """Return the key of the state after a change: equal keys are equal states.

    Args:
        change: number of the change.
        lake: as it is after it.
        copy: a folder for a copy of the lake, which is replaced.
    """
    if not ladybug_log.log_files(lake / _GRAPH):
        return _digest(lake)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(lake, copy)
    is_complete = _completed(copy / _GRAPH)
    if is_complete is None:
        return _digest(lake)
    return _digest(copy) if is_complete else str(change)


def _completed(graph: Path) -> bool | None:
    """Complete a merge; None if a reader can open the file, False if it cannot be completed."""
    child = os.fork()
    if child == 0:
        os._exit(_completion(str(graph)))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if code == _READABLE else code == FileState.INTACT


def _completion(graph: str) -> int:
    """Return the exit code of a child: its parent's cleanup must not run."""
    try:
        if try_open(graph, write=False) is not FileState.UNRECOVERED:
            return _READABLE
        return try_open(graph, write=True)
    except BaseException:  # noqa: BLE001 - as above
        return FileState.CRASH


def _digest(lake: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in lake.rglob("*") if path.is_file()):
        name = str(path.relative_to(lake)).encode()
        content = b"" if path.name.startswith(_COPY) else path.read_bytes()
        found.update(len(name).to_bytes(8) + name + len(content).to_bytes(8) + content)
    return found.hexdigest()
