"""What completing an interrupted merge of an embedded graph's log makes of a state.

A merge writes thousands of pages into the graph's file, and each of these writes leaves another
state, most of which one and the same completion repairs. A completion takes 0.2 CPU seconds, and
the comparison of a state with one that was completed a tenth of that:

A completion depends on the bytes that it reads. It is traced: a page of the graph's file that it
writes before it reads any of it does not influence it, whatever the page held, nor does a page of
another file that it removes without reading that page. Two states that are equal but for these are
completed alike, and end with the same bytes. The trace cannot tell whether the sizes of the files
matter, which grow meanwhile. Of some states in a row that are equal but for these bytes and for
sizes, the first and the last are completed: if the results differ, all of them count as different.

The database places its pages in an order that depends on the memory of its process. All completions
are therefore forks of one process, whose memory does not change.
"""

import hashlib
import os
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.crashes.faults import Action, FaultPoints
from tests.crashes.points import CHANGED
from turnetl.graph.ladybug.probe import FileState, try_open

PAGE = 4096
"""Of the graph's file, in bytes."""

Files = Mapping[str, bytes]
"""Contents by name."""

_READABLE = 99
"""An exit code that is no `FileState`."""
_READS, _WRITES = ("pread", "pread64"), ("pwrite", "pwrite64")
_REMOVES = ("unlink", "unlinkat", "remove")
_UNALTERING = ("open", "open64", "openat", "openat64", "fsync", "fdatasync")
"""Calls on an existing file that the database makes; it opens none to empty it."""


@dataclass(frozen=True)
class Completion:
    """What became of a state."""

    is_readable: bool
    """Whether a reader can open it, so that nothing has to be completed."""
    is_complete: bool
    files: str
    """Digest of the graph's files afterwards."""
    overwritten: frozenset[int]
    """Pages of the graph's file that were written before they were read."""
    read: Mapping[str, frozenset[int]]
    """Of other files that were removed: the pages that were read."""

    def depends_on(self, files: Files, graph: str) -> str:
        """Return a digest of what such a completion depends on, but for sizes.

        Args:
            files: of a state, those of the graph included.
            graph: name of its file.
        """
        others = {
            name: _only(self.read[name], content) if name in self.read else content
            for name, content in files.items()
            if name != graph
        }
        return f"{digest(others)} {_without(self.overwritten, files[graph])}"


class Completer:
    """A process that completes merges, each in a fork."""

    def __init__(self, folder: Path, graph: str, faults: FaultPoints) -> None:
        """Start the process.

        Args:
            folder: for copies of the files of a graph, which are replaced.
            graph: name of its file.
            faults: of this process.
        """
        self._folder = folder
        self._graph = graph
        self._trace = folder.with_name(f"{folder.name}.trace")
        reader, self._requests = os.pipe()
        self._codes, writer = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._requests)
            while os.read(reader, 1):
                child = os.fork()
                if child == 0:
                    with self._trace.open("wb") as log:
                        faults.arm(Action.TRACE, folder, log=log.fileno())
                        os._exit(_completion(str(folder / graph)))
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                os.write(writer, bytes([code if code >= 0 else FileState.CRASH]))
            os._exit(0)
        os.close(reader)
        os.close(writer)

    def complete(self, files: Files) -> Completion:
        """Complete the merge of a graph, given all of its files."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        for name, content in files.items():
            (self._folder / name).write_bytes(content)
        os.write(self._requests, b".")
        code = os.read(self._codes, 1)[0]
        after = {path.name: path.read_bytes() for path in self._folder.iterdir() if path.is_file()}
        lines = self._trace.read_text(errors="replace").splitlines()
        calls = [line.split(" ") for line in lines if not line.startswith(CHANGED)]
        return Completion(
            code == _READABLE,
            code == FileState.INTACT,
            digest(after),
            overwritten(calls, f"/{self._graph}"),
            {name: read_pages(calls, f"/{name}") for name in files.keys() - after.keys()},
        )

    def close(self) -> None:
        os.close(self._requests)
        os.close(self._codes)
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


def digest(files: Files) -> str:
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        found.update(len(name.encode()).to_bytes(8) + name.encode())
        found.update(len(content).to_bytes(8) + content)
    return found.hexdigest()


def _completion(graph: str) -> int:
    """Return the exit code of a child: its parent's cleanup must not run."""
    with suppress(BaseException):
        if try_open(graph, write=False) is not FileState.UNRECOVERED:
            return _READABLE
        return try_open(graph, write=True)
    return FileState.CRASH


def _without(pages: frozenset[int], content: bytes) -> str:
    """Return a digest of the other pages, which says nothing about the size."""
    found, view = hashlib.sha256(), memoryview(content)
    start = 0
    for page in sorted(pages):
        found.update(view[start : page * PAGE])
        start = (page + 1) * PAGE
    found.update(view[start:])
    return found.hexdigest()


def _only(pages: frozenset[int], content: bytes) -> bytes:
    """Return these pages, and whether there is any content."""
    parts = (content[page * PAGE : (page + 1) * PAGE] for page in sorted(pages))
    return b"".join([b"content" if content else b"", *parts])


def read_pages(calls: Iterable[Sequence[str]], file: str) -> frozenset[int]:
    """Return the pages of which anything is read before the file is removed.

    Arguments as of `overwritten`.
    """
    pages: set[int] = set()
    for name, place, *part in calls:
        if place == file and name in _REMOVES:
            break
        if place == file and name in _READS:
            at, size = map(int, part[:2])
            pages.update(range(at // PAGE, -(-(at + size) // PAGE)))
    return frozenset(pages)


def overwritten(calls: Iterable[Sequence[str]], file: str) -> frozenset[int]:
    """Return the pages that are written, each as a whole, before anything of it is read.

    None if the file is changed in another way.

    Args:
        calls: of a trace: name, path, and offset and size.
        file: its path there.
    """
    used: set[int] = set()
    ends: dict[int, int] = {}
    for name, place, *part in calls:
        if place != file or name in _UNALTERING:
            continue
        if name not in _READS + _WRITES:
            return frozenset()
        at, size = map(int, part[:2])
        for page in range(at // PAGE, -(-(at + size) // PAGE)):
            start, end = max(at - page * PAGE, 0), min(at + size - page * PAGE, PAGE)
            if page in used or ends.get(page) == PAGE:
                continue
            if name in _WRITES and start == ends.get(page, 0):
                ends[page] = end
            else:
                used.add(page)
    return frozenset(page for page, end in ends.items() if end == PAGE and page not in used)
