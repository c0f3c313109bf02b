"""Files beside archives that hold no archive that turnetl reads: what they are, and what to do.

All are counted. Agents' databases and packed files may hold sessions: they are named, too. Files
that agents keep beside sessions, such as long outputs of tools, hold none, whatever their content
looks like.
"""

import re
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import NamedTuple

from turnetl.base.skip_reasons import SkipReason

_EXPORT = "write each session to a file with `opencode export`"
_UNPACK = "unpack it and name the folder"
_DECOMPRESS = "decompress it, or compress it with gzip or zstd as `.jsonl.gz` or `.jsonl.zst`"
_DATABASES = (
    ("opencode*.db", "a database with sessions of OpenCode", _EXPORT),
    ("kilo*.db", "a database with sessions of Kilo Code", "export its sessions"),
    ("state.vscdb", "a database of Cursor or VS Code", "export its chats"),
)
"""Pattern of the name in lower case of an agent's database, what it is, and what to do."""
_DATABASE = (SkipReason.DATABASE, "a database (SQLite)", "export its sessions to JSON or JSONL")
_PACKED = (SkipReason.PACKED, "a packed folder", _UNPACK)
_COMPRESSED = (SkipReason.PACKED, "a compressed file", _DECOMPRESS)
_SUFFIXES = {
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
_is_renamed = re.compile(r"\.jsonl?(?:\.gz|\.zst)?[.~_-]", re.IGNORECASE).search
KINDS = (
    *(SkipReason.DATABASE, SkipReason.PACKED, SkipReason.RENAMED),
    *(SkipReason.BESIDE_SESSION, SkipReason.OTHER_FILE),
)
"""Reasons why files in folders are no archives."""
_TAR, _TAR_AT = b"ustar", 257
_CODEX_PROMPT = re.compile(rb'\s*\{\s*"session_id"\s*:\s*"[^"]*"\s*,\s*"ts"\s*:\s*\d+\s*,\s*"text"')
_SESSION = r"/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_is_beside_session = re.compile(
    rf"{_SESSION}/tool-results/[^/]+\Z|{_SESSION}/workflows/.*\.json\Z"
    rf"|{_SESSION}/subagents/(?:.*/)?(?:[^/]+\.meta\.json|journal\.jsonl)\Z"
    r"|/projects/[^/]+/sessions-index\.json\Z"
    r"|/\.gemini/(?:projects\.json|tmp/[^/]+/logs\.json)\Z"
).search
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
    return _is_beside_session(path.replace("\\", "/")) is not None


def may_be_archive(name: str) -> bool:
    """Return whether a file without a suffix may be an archive: its start must decide."""
    return "." not in name


def starts_as_json(head: bytes) -> bool:
    """Return whether a file that starts like this may be an archive."""
    return _JSON.match(head) is not None


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
    kind = _SUFFIXES.get(lower.rpartition(".")[2]) if "." in lower else None
    if kind is not _DATABASE and ".tar." in lower:
        kind = _PACKED
    if kind is None:
        return None
    reason, what, remedy = kind
    if kind is _DATABASE:
        of_agent = (rest for pattern, *rest in _DATABASES if fnmatchcase(lower, pattern))
        what, remedy = next(of_agent, (what, remedy))
    return reason, f"{what}, which turnetl does not read; {remedy}"


def other_content(name: str, data: bytes) -> str | None:
    """Return the end of a sentence about content in no format that turnetl reads, if it is known.

    Args:
        name: of the file. It says more than the content.
        data: the content, decompressed.
    """
    if data[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        name = "x.tar"
    elif _CODEX_PROMPT.match(data):
        return (
            "the prompts of Codex CLI without responses (history.jsonl), which turnetl does not "
            "read; name the rollouts in `~/.codex/sessions`"
        )
    else:
        similar = next((similar for start, similar in _STARTS if data.startswith(start)), None)
        if similar is None:
            return None
        name = name if other_kind(name) else similar
    kind = other_kind(name)
    return kind[1] if kind is not None else None
