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
from collections.abc import Callable
from pathlib import Path

import msgspec

from turnetl.graph import ladybug_log
from turnetl.graph.ladybug_probe import FileState, try_open

_GRAPH = "graph.lbug"
_COPY = f"{_GRAPH}.rewritten"


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
    graph = str(copy / _GRAPH)
    if _in_child(lambda: try_open(graph, write=False)) is not FileState.UNRECOVERED:
        return _digest(lake)
    is_complete = _in_child(lambda: try_open(graph, write=True)) is FileState.INTACT
    return _digest(copy) if is_complete else str(change)


def _in_child(state: Callable[[], FileState]) -> FileState:
    child = os.fork()
    if child == 0:
        os._exit(_exit_code(state))
    status = os.waitpid(child, 0)[1]
    return FileState(os.WEXITSTATUS(status)) if os.WIFEXITED(status) else FileState.CRASH


def _exit_code(state: Callable[[], FileState]) -> int:
    try:
        return state()
    except BaseException:  # noqa: BLE001 - the parent's cleanup must not run
        return FileState.CRASH


def _digest(lake: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in lake.rglob("*") if path.is_file()):
        name = str(path.relative_to(lake)).encode()
        content = b"" if path.name.startswith(_COPY) else path.read_bytes()
        found.update(len(name).to_bytes(8) + name + len(content).to_bytes(8) + content)
    return found.hexdigest()
