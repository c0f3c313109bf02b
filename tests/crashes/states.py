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
  the merge, in a process that only does that. The states are compared after it (`merges.py`).
- Of the files of an incomplete copy of the graph (`forget`) only the names are compared: they are
  deleted before anything reads them.

Two threads of a command may make their changes in another order in another run. A trial then tries
the state of that order.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tests.crashes.faults import FaultPoints
from tests.crashes.merges import Completer, Completion, Files, digest

_GRAPH = "graph.lbug"
_COPY = f"{_GRAPH}.rewritten"
_MERGE = (f"{_GRAPH}.wal.checkpoint", f"{_GRAPH}.shadow")
"""Without these files no merge was interrupted."""
_MOST_MERGING = 48
"""States of which only the first and the last are completed; all of them differ if these do."""


class State(msgspec.Struct, frozen=True):
    """A state in which a command may die."""

    change: int
    """After which it is left; 0: before the first one."""
    changes: int
    """That leave the same state, this one included."""
    points: int
    """Of the command, in which it is in this state."""


@dataclass
class _Merging:
    """States that are equal but for what their completion does not depend on, and for sizes."""

    completion: Completion
    depends_on: str
    """Digest of what the completion depends on."""
    apart: str
    """Digest of the files that are not of the graph: a completion does not change them."""
    changes: list[int] = field(default_factory=list)
    last: Files = field(default_factory=dict)

    def holds(self, files: Files) -> bool:
        is_full = len(self.changes) >= _MOST_MERGING
        return not is_full and self.depends_on == self.completion.depends_on(files, _GRAPH)


class States:
    """Tells which of the states of a command with an embedded graph are one."""

    def __init__(self, lake: Path, copy: Path, faults: FaultPoints) -> None:
        """Look at states.

        Args:
            lake: where the command works.
            copy: a folder for copies of the graph, which is replaced.
            faults: of this process.
        """
        self._lake = lake
        self._completer = Completer(copy, _GRAPH, faults)
        self._changes: dict[str, list[int]] = defaultdict(list)
        self._merging: _Merging | None = None

    def add(self, change: int) -> None:
        """Look at the lake as it is after a change; the numbers of changes ascend."""
        files = _contents(self._lake)
        graph = {name: content for name, content in files.items() if _is_graph(name)}
        if _GRAPH not in graph or not any(name in graph for name in _MERGE):
            self._changes[digest(files)].append(change)
            return
        if self._merging is None or not self._merging.holds(files):
            self._end_merging()
            completion = self._completer.complete(graph)
            if completion.is_readable or not completion.is_complete:
                key = digest(files) if completion.is_readable else str(change)
                self._changes[key].append(change)
                return
            apart = digest({name: files[name] for name in files.keys() - graph.keys()})
            depends_on = completion.depends_on(files, _GRAPH)
            self._merging = _Merging(completion, depends_on, apart)
        self._merging.changes.append(change)
        self._merging.last = graph

    def distinct(self) -> list[list[int]]:
        """Return the changes after which the same state is left, for each state."""
        self._end_merging()
        self._completer.close()
        return sorted(self._changes.values())

    def _end_merging(self) -> None:
        merging, self._merging = self._merging, None
        if merging is None:
            return
        changes, completion = merging.changes, merging.completion
        if len(changes) > 1 and self._completer.complete(merging.last).files != completion.files:
            for change in changes:
                self._changes[str(change)].append(change)
            return
        self._changes[f"{completion.files} {merging.apart}"] += changes


def _is_graph(name: str) -> bool:
    return name.startswith(_GRAPH) and not name.startswith(_COPY)


def _contents(lake: Path) -> dict[str, bytes]:
    """Return the files of the lake by their paths in it; of those of a copy only the names."""
    return {
        str(path.relative_to(lake)): b"" if path.name.startswith(_COPY) else path.read_bytes()
        for path in sorted(lake.rglob("*"))
        if path.is_file()
    }
