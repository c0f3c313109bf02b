"""Claude Code's history of prompts: one file with the prompts of all projects.

Each project is an archive of its own, `history.jsonl/project-1a2b3c4d`: an archive belongs to one
group. Its content is the file with spaces in place of the lines of other projects, so that lines
and bytes are those of the file.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from turnetl import ids
from turnetl.errors import BadArchive
from turnetl.formats import PROMPT_HISTORY, sniff
from turnetl.lake.paths import may_be_history, section_file
from turnetl.parsing.archive_files import ArchiveFiles
from turnetl.parsing.compression import decompress
from turnetl.parsing.local_archives import LOCAL

_HEAD = 64 << 10
"""Bytes that show whether a file is a history of prompts."""
_MAX_BYTES = 1 << 30
_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")


class _Project(msgspec.Struct):
    project: str = ""


_decode = msgspec.json.Decoder(_Project).decode


def sections(path: Path, files: ArchiveFiles = LOCAL) -> list[Path]:
    """Return the archives of a history of prompts, in the order of their first prompts.

    Args:
        path: a file.
        files: where it is.

    Returns:
        The file itself if it is another one, or cannot be read.
    """
    if not may_be_history(path.name):
        return [path]
    try:
        state = files.state(path)
        if not _is_history(files.start(path, min(state.size, _HEAD))):
            return [path]
        data = _decompressed(files.read(state)[0])
    except BadArchive:
        return [path]
    names = dict.fromkeys(name for name, _ in _named_lines(data) if name)
    return [path / name for name in names] or [path]


def section_content(path: Path, data: bytes) -> bytes:
    """Return the content of an archive of a history of prompts.

    A line that names no project, or cannot be read, belongs to the archive of the line before it;
    before the first project, to that one.

    Args:
        path: of the archive.
        data: the whole history, decompressed or not.
    """
    if not is_section(path):
        return data
    lines, kept = list(_named_lines(_decompressed(data))), []
    current = next((name for name, _ in lines if name), path.name)
    for name, line in lines:
        current = name or current
        kept.append(line if current == path.name else _blank(line))
    return b"".join(kept).rstrip(b" \n") + b"\n"


def _blank(line: bytes) -> bytes:
    """Return as many spaces, and the end of the line if it has one."""
    end = b"\n" if line.endswith(b"\n") else b""
    return b" " * (len(line) - len(end)) + end


def is_section(path: Path) -> bool:
    """Return whether an archive is a project of a history of prompts."""
    return section_file(path) != path


def _is_history(head: bytes) -> bool:
    detected = sniff(decompress(head, _HEAD).data)
    return detected is not None and detected.name == PROMPT_HISTORY


def _decompressed(data: bytes) -> bytes:
    return decompress(data, _MAX_BYTES).data


def _named_lines(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each line with the name of its archive; empty if the line names no project."""
    names: dict[str, str] = {}
    for match in _LINE.finditer(data):
        line = match[0]
        project = _project_of(line)
        if project and project not in names:
            names[project] = f"project-{ids.digest(project)[:8]}"
        yield names.get(project, ""), line


def _project_of(line: bytes) -> str:
    """Return the project that a line names; empty if it names none, or cannot be read."""
    try:
        return _decode(line).project
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
