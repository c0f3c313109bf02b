"""Claude Code's history of prompts: one file with the prompts of all projects.

Each project is an archive of its own, `history.jsonl/project-1a2b3c4d`: an archive belongs to one
group. Its content is the file with spaces in place of the lines of other projects, so that lines
and bytes are those of the file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock

import msgspec

from turnetl.base import ids
from turnetl.base.errors import BadArchive
from turnetl.formats import PROMPT_HISTORY, sniff
from turnetl.lake.paths import may_be_history
from turnetl.parsing.archive_files import LOCAL, ArchiveFile, ArchiveFiles
from turnetl.parsing.compression import decompress

_HEAD = 64 << 10
"""Bytes that show whether a file is a history of prompts."""
_MAX_BYTES = 1 << 30
_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")
_SPACES = bytes(byte if byte == ord("\n") else ord(" ") for byte in range(256))
"""A space for every byte that does not end a line."""


class _Project(msgspec.Struct):
    project: str = ""


_decode = msgspec.json.Decoder(_Project).decode


class PromptHistory:
    """A history of prompts. Its lines are decoded once for all archives in it."""

    def __init__(self, data: bytes) -> None:
        self._data = decompress(data, _MAX_BYTES).data
        self._runs = _runs_by_name(self._data)
        self._blank = self._data.translate(_SPACES)

    @property
    def names(self) -> list[str]:
        """The names of its archives in the order of their first prompts; none without projects."""
        return list(self._runs)

    def content(self, name: str) -> bytes:
        """Return the content of an archive. If no line names a project, all lines belong to it.

        A line that names no project, or cannot be read, belongs to the archive of the line before
        it; before the first project, to that one.
        """
        runs = self._runs or {name: [(0, len(self._data))]}
        data, blank = memoryview(self._data), memoryview(self._blank)
        pieces, position = [blank[:0]], 0
        for start, end in runs.get(name, ()):
            pieces += [blank[position:start], data[start:end]]
            position = end
        # The last piece alone, to copy the others once. It is blank only if it is the only one.
        last = bytes(pieces.pop()).rstrip(b" \n")
        return b"".join([*pieces, last, b"\n"])


class PromptHistories:
    """Reads archives in histories of prompts. Keeps the history that was read last.

    The archives of one history follow each other, so that it is read and decoded once. Threads may
    share the object; a copy for another process starts without a history.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._last: tuple[ArchiveFile, ArchiveFile, PromptHistory] | None = None
        """The state that was asked for, the state that was read, and its content."""

    def __reduce__(self) -> tuple[type["PromptHistories"], tuple[()]]:
        return PromptHistories, ()

    def read(self, path: Path, file: ArchiveFile, files: ArchiveFiles) -> tuple[bytes, ArchiveFile]:
        """Return the content of an archive, and the state of the history when it was read."""
        with self._lock:
            last = self._last
            if last is None or last[0] != file:
                self._last = last = None
                data, state = files.read(file)
                self._last = last = file, state, PromptHistory(data)
        _, state, history = last
        return history.content(path.name), state

    def release(self) -> None:
        self._last = None


def project_archives(path: Path, files: ArchiveFiles = LOCAL) -> list[Path]:
    """Return the projects of a history of prompts, by their first prompts; else the file itself."""
    if not may_be_history(path.name):
        return [path]
    try:
        state = files.state(path)
        if not _is_history(files.start(path, min(state.size, _HEAD))):
            return [path]
        history = PromptHistory(files.read(state)[0])
    except BadArchive:
        return [path]
    return [path / name for name in history.names] or [path]


def _is_history(head: bytes) -> bool:
    detected = sniff(decompress(head, _HEAD).data)
    return detected is not None and detected.name == PROMPT_HISTORY


def _runs_by_name(data: bytes) -> Mapping[str, Sequence[tuple[int, int]]]:
    runs: dict[str, list[tuple[int, int]]] = {}
    current, start = "", 0
    for name, line_start in _named_lines(data):
        if name == current:
            continue
        if current:
            runs.setdefault(current, []).append((start, line_start))
            start = line_start
        current = name
    if current:
        runs.setdefault(current, []).append((start, len(data)))
    return runs


def _named_lines(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield the name of its archive and the offset of each line that names a project."""
    names: dict[str, str] = {}
    for match in _LINE.finditer(data):
        if project := _project_of(match[0]):
            if project not in names:
                names[project] = f"project-{ids.digest(project)[:8]}"
            yield names[project], match.start()


def _project_of(line: bytes) -> str:
    """Return the project that a line names; empty if it names none, or cannot be read."""
    try:
        return _decode(line).project
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
