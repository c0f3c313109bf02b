"""Recursive folder search for archives: it follows links and searches every real folder once.

Other files are counted. Agents' databases and packed files may hold sessions: they are named, too.
Files that agents keep beside sessions, such as long outputs of tools, hold none in any case.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import NamedTuple

from turnetl.base.reason import SkipReason

# ruff: noqa: PTH116, PTH118 - thousands of names, and no Path is needed


_SUFFIXES = tuple(
    suffix + compression
    for suffix in (".jsonl", ".json", ".aider.chat.history.md")
    for compression in ("", ".gz", ".zst", ".zstd")
)

_HEAD = 64
"""Bytes that are read of a file without a suffix."""

OnProblem = Callable[[str, SkipReason, str], None]
"""Receives a path, the reason why it is skipped, and the end of a sentence about it, which is empty
if the path is only counted."""


def has_archive_suffix(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with the suffix of an archive, or one that the user named."""

    path: str
    real_path: str
    """The same for every link that leads to the file."""


def walk_files(folder: str, on_problem: OnProblem) -> Iterator[FoundFile]:
    """Yield the files in a folder and below it; files that only links lead to come last."""
    walk = _FolderWalk(on_problem)
    yield from walk.files([(folder, os.path.realpath(folder))])


@dataclass(slots=True)
class _FolderWalk:
    on_problem: OnProblem
    searched: set[tuple[int, int]] = field(default_factory=set)
    linked_folders: list[str] = field(default_factory=list)
    linked_files: list[str] = field(default_factory=list)

    def files(self, folders: list[tuple[str, str]]) -> Iterator[FoundFile]:
        """Search folders, each given with its real path."""
        # A link's target may also be in a searched folder; its own path then takes precedence.
        while folders or self.linked_folders:
            folder, real = folders.pop() if folders else _resolved(self.linked_folders.pop(0))
            for entry in self._entries(folder):
                if not _is(entry.is_dir):
                    yield from self._entry(entry, real)
                elif entry.is_symlink():
                    self.linked_folders.append(entry.path)
                else:
                    folders.append((entry.path, os.path.join(real, entry.name)))
        yield from (FoundFile(*_resolved(path)) for path in self.linked_files)

    def _entry(self, entry: os.DirEntry[str], real_folder: str) -> Iterator[FoundFile]:
        """Yield a file that is an archive by its name, or by its start if it has no suffix."""
        if has_archive_suffix(entry.name):
            yield from self._file(entry, real_folder)
        elif not _is(entry.is_file):
            return
        elif may_be_archive(entry.name) and _JSON.match(_head(entry.path)):
            yield from self._file(entry, real_folder)
        else:
            self.on_problem(entry.path, *unread_kind(entry.path))

    def _file(self, entry: os.DirEntry[str], real_folder: str) -> Iterator[FoundFile]:
        if not _is(entry.is_file):
            is_broken = entry.is_symlink() and not os.path.exists(entry.path)  # noqa: PTH110 - as above
            what = "is a broken link" if is_broken else "is neither a file nor a folder"
            self.on_problem(entry.path, SkipReason.OTHER_ENTRY, f"{what}; it was skipped")
        elif entry.is_symlink():
            self.linked_files.append(entry.path)
        else:
            yield FoundFile(entry.path, os.path.join(real_folder, entry.name))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return the entries of a folder by name; none if it was searched before."""
        try:
            status = os.stat(folder)
            if (identity := (status.st_dev, status.st_ino)) in self.searched:
                return []
            self.searched.add(identity)
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            what = f"cannot be read ({error.strerror}); check its permissions"
            self.on_problem(folder, SkipReason.UNREADABLE, what)
            return []


def _is(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except OSError:  # a link that leads to itself
        return False


def _head(path: str) -> bytes:
    """Return the start of a file; nothing if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read(_HEAD)
    except OSError:
        return b""


def _resolved(link: str) -> tuple[str, str]:
    return link, os.path.realpath(link)


_EXPORT = "write each session to a file with `opencode export`"
_UNPACK = "unpack it and name the folder"
_DECOMPRESS = "decompress it, or compress it with gzip or zstd as `.jsonl.gz` or `.jsonl.zst`"
_DATABASES = (
    ("opencode*.db", "a database with sessions of OpenCode in another layout", _EXPORT),
    ("kilo*.db", "a database with sessions of Kilo Code in another layout", "export its sessions"),
    ("state.vscdb", "a database of Cursor or VS Code", "export its chats"),
)
"""Pattern of the name in lower case of an agent's database, what it is if its tables are none that
are read, and what to do."""
_DATABASE = (SkipReason.DATABASE, "a database (SQLite)", "export its sessions to JSON or JSONL")
_PACKED = (SkipReason.PACKED, "a packed folder", _UNPACK)
_COMPRESSED = (SkipReason.PACKED, "a compressed file", _DECOMPRESS)
_KNOWN_SUFFIXES = {
    **dict.fromkeys(("db", "sqlite", "sqlite3", "vscdb"), _DATABASE),
    **dict.fromkeys(("zip", "7z", "rar", "tar", "tgz", "tbz", "tbz2", "txz"), _PACKED),
    **dict.fromkeys(("bz2", "xz", "lz4", "br", "lzma", "z", "gz", "zst"), _COMPRESSED),
}
"""Why a file with a suffix is not read, what it is, and what to do."""
_STARTS = (
    (b"SQLite format 3\0", "x.sqlite"),
    (b"PK\x03\x04", "x.zip"),
    (b"7z\xbc\xaf\x27\x1c", "x.7z"),
    (b"Rar!", "x.rar"),
    (b"BZh", "x.bz2"),
    (b"\xfd7zXZ", "x.xz"),
)
"""First bytes of a file, and a name that says the same."""
_is_renamed = re.compile(r"\.jsonl?(?:\.gz|\.zstd?)?[.~_-]", re.IGNORECASE).search
KINDS = (
    *(SkipReason.DATABASE, SkipReason.PACKED, SkipReason.RENAMED),
    *(SkipReason.BESIDE_SESSION, SkipReason.OTHER_FILE),
)
"""Reasons why files in folders are no archives."""
_TAR, _TAR_AT = b"ustar", 257
_SESSION = r"/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_is_beside_session = re.compile(
    rf"{_SESSION}/tool-results/[^/]+\Z|{_SESSION}/workflows/.*\.json\Z"
    rf"|{_SESSION}/subagents/(?:.*/)?(?:[^/]+\.meta\.json|journal\.jsonl)\Z"
    r"|/projects/[^/]+/sessions-index\.json\Z"
    r"|/\.gemini/(?:projects\.json|tmp/[^/]+/logs\.json)\Z"
    # Its prompts are of all projects: who wants them names the file, and a group.
    r"|/\.codex/history\.jsonl\Z"
    r"|/agent-transcripts/[^/]+/subagents/[^/]+\.jsonl\Z"
    r"|/\.factory/sessions/(?:.*/)?[^/]+\.settings\.json\Z|/\.kiro/sessions/cli/[^/]+\.json\Z"
    r"|/\.?openclaw/agents/[^/]+/sessions/(?:sessions\.json|[^/]+\.checkpoint\.[^/]+)\Z"
    r"|/[0-9a-f]{2}/[0-9a-f]{10}/(?:\d+/)?metadata\.json\Z"
    r"|/\.cline/data/sessions/[^/]+/[^/]+(?<!\.messages)\.json\Z"
    r"|/tasks/[^/]+/(?:history_item|task_metadata|ui_messages)\.json\Z"
    r"|/workspaceStorage/[^/]+/workspace\.json\Z|/\.grok/sessions/.*/summary\.json\Z"
    r"|/\.kimi-code/sessions/.*/state\.json\Z|/local-agent-mode-sessions/.*/local_[^/]+\.json\Z"
).search
is_part = re.compile(r"(full\.jsonl|raw_transcript)\.\d{3}").fullmatch
"""A further part of a transcript of more than 50 MB that Entire splits between rows."""
WITHOUT_SUFFIX = ("raw_transcript",)
"""Names of archives without a suffix. In an object store no other one is opened."""
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*\"|\[\s*[\[{])")


class OtherFile(NamedTuple):
    """A file in a folder that is not read."""

    path: str
    reason: SkipReason
    """One of `KINDS`."""
    what: str
    """The end of a sentence that says what it is and what to do; empty: it is only counted."""


def is_beside_session(path: str) -> bool:
    """Return whether an agent keeps such a file beside its sessions."""
    plain = path.replace("\\", "/")
    if _is_beside_session(plain) is not None:
        return True
    # The first part is the archive of all.
    if (part := is_part(PurePath(path).name)) and Path(path).with_name(part[1]).is_file():
        return True
    # Claude Cowork logs what its transcripts hold, too; where there are none, the log is read.
    is_log = "/local-agent-mode-sessions/" in plain and plain.endswith("/audit.jsonl")
    return is_log and any(Path(path).parent.glob(".claude/projects/*/*.jsonl"))


def may_be_archive(name: str) -> bool:
    """Return whether a file without a suffix, or a part, may be an archive: its start decides."""
    return "." not in name or is_part(name) is not None


def unread_kind(path: str) -> tuple[SkipReason, str]:
    """Return why a file in a folder is not read, and the end of a sentence about it: see `what`."""
    name = PurePath(path).name
    if (kind := other_kind(name)) is not None:
        return kind
    if is_beside_session(path):
        return SkipReason.BESIDE_SESSION, ""
    return (SkipReason.RENAMED if _is_renamed(name) else SkipReason.OTHER_FILE), ""


def other_kind(name: str) -> tuple[SkipReason, str] | None:
    """Return why a file that may hold sessions is not read, and the end of a sentence about it."""
    lower = name.lower()
    kind = _KNOWN_SUFFIXES.get(lower.rpartition(".")[2]) if "." in lower else None
    if kind is not _DATABASE and ".tar." in lower:
        kind = _PACKED
    if kind is None:
        return None
    reason, what, remedy = kind
    if kind is _DATABASE:
        of_agent = (rest for pattern, *rest in _DATABASES if fnmatchcase(lower, pattern))
        what, remedy = next(of_agent, (what, remedy))
    return reason, f"{what}, which turnetl does not read; {remedy}"


def is_agents_database(name: str) -> bool:
    """Return whether a file has the name of a database of an agent."""
    return any(fnmatchcase(name.lower(), pattern) for pattern, *_ in _DATABASES)


def other_content(name: str, data: bytes) -> str | None:
    """Return the end of a sentence about content that turnetl knows and does not read, or None."""
    if data[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        name = "x.tar"
    else:
        similar = next((similar for start, similar in _STARTS if data.startswith(start)), None)
        if similar is None:
            return None
        name = name if other_kind(name) else similar
    kind = other_kind(name)
    return kind[1] if kind is not None else None
