"""OpenCode's store on disk: one JSON file for each session, message and part, in separate folders.

    session/<project>/<session>.json   message/<session>/<message>.json   part/<message>/<part>.json

and in the older layout `session/info/<session>.json`, `session/message/<session>/<message>.json`
and `session/part/<session>/<message>/<part>.json`. A session's archive is its file; its content is
followed by those of its messages and their parts. A file that cannot be read raises nothing.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnetl.base.errors import BadArchive
from turnetl.lake import is_object
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles

_SUFFIX = ".json"
_OTHER_FOLDERS = ("project", "todo", "session_diff", "session_share", "share", "permission")
"""Folders of a store with files that hold no conversation."""
_READ_BYTES = 1 << 20
"""Bytes read of a file whose name does not show its kind. Such files are much smaller."""


@dataclass(frozen=True, slots=True)
class _Store:
    files: ArchiveFiles
    sessions: Path
    """Holds a folder for each project; in the older layout the session files themselves."""
    messages: Path
    parts: Path
    is_older: bool

    def parts_folder(self, session: str, message: str) -> Path:
        return self.parts / session / message if self.is_older else self.parts / message


def session_files(path: Path, files: ArchiveFiles = LOCAL) -> Sequence[Path] | None:
    """Return the files of the session of an archive; None: it is not in a store.

    The session file is first, then each message followed by its parts, sorted by name, which is
    chronological. The first message of a session without a session file is its archive. Files are
    opened only if their names do not show their kind.
    """
    path = _absolute(path)
    store = _store_of_session(path, files)
    if store is not None and (session := _session_id(path, store)) is not None:
        return [path, *_message_files(store, session)]
    store = _store_of_message(path, files)
    if store is not None and _is_first_without_session(path, store):
        return list(_message_files(store, path.parent.name))
    return None


def is_store_member(path: Path, files: ArchiveFiles = LOCAL) -> bool:
    """Return whether a file is part of a store and no archive: a message, a part or other file."""
    path = _absolute(path)
    if (store := _store_of_message(path, files)) is not None:
        return not _is_first_without_session(path, store)
    return _is_part(path, files) or _is_other_file(path, files)


def orphan_parts(members: Iterable[Path], files: ArchiveFiles = LOCAL) -> list[tuple[Path, int]]:
    """Return the folders of parts without their message, sorted, with the number of members."""
    counts = Counter(_absolute(path).parent for path in members)
    by_messages: dict[Path, dict[str, Path]] = {}
    for folder in counts:
        if (messages := _messages_folder(folder, files)) is not None:
            by_messages.setdefault(messages, {})[folder.name] = folder
    orphans = (
        folder
        for messages, parts in by_messages.items()
        for folder in _orphans(parts, messages, files)
    )
    return [(folder, counts[folder]) for folder in sorted(orphans)]


def _messages_folder(parts: Path, files: ArchiveFiles) -> Path | None:
    """Return the folder that holds the message of these parts; None if it holds no parts."""
    for folder, session in ((parts.parent, ""), (parts.parent.parent, parts.parent.name)):
        if folder.name == "part" and files.is_folder(folder.parent / "message"):
            return folder.parent / "message" / session
    return None


def _orphans(parts: Mapping[str, Path], messages: Path, files: ArchiveFiles) -> list[Path]:
    sessions = files.entries(messages)
    found = [file for folder in (messages, *sessions) for file in _json_files(folder, files)]
    # An id counts only if no parts have the name of the file: see `_message_files`.
    ids = {
        _file_name(_read_object(file, files).get("id")) for file in found if file.stem not in parts
    }
    names = ids | {file.stem for file in found}
    return [folder for name, folder in parts.items() if name not in names]


def _store_of_session(path: Path, files: ArchiveFiles) -> _Store | None:
    folder = path.parent.parent
    if path.suffix != _SUFFIX or folder.name != "session":
        return None
    is_older = path.parent.name == "info"
    return _store(folder if is_older else folder.parent, files, is_older=is_older)


def _store_of_message(path: Path, files: ArchiveFiles) -> _Store | None:
    folder = path.parent.parent
    if folder.name != "message" or not _is_kind(path, files, "msg_", "sessionID", "metadata"):
        return None
    return _store(folder.parent, files, is_older=folder.parent.name == "session")


def _is_part(path: Path, files: ArchiveFiles) -> bool:
    folder = path.parent.parent
    candidates = (parent for parent in (folder, folder.parent) if parent.name == "part")
    in_store = any(files.is_folder(parent.parent / "message") for parent in candidates)
    return in_store and _is_kind(path, files, "prt_", "messageID")


def _is_other_file(path: Path, files: ArchiveFiles) -> bool:
    root = path.parent.parent
    other = path.suffix == _SUFFIX and path.parent.name in _OTHER_FOLDERS
    return other and all(files.is_folder(root / name) for name in ("session", "message", "part"))


def _store(root: Path, files: ArchiveFiles, *, is_older: bool) -> _Store:
    sessions = root / ("info" if is_older else "session")
    return _Store(files, sessions, root / "message", root / "part", is_older)


def _is_kind(path: Path, files: ArchiveFiles, prefix: str, *fields: str) -> bool:
    """Return whether a file is of a kind, by its name's prefix or else by one of these fields."""
    if path.suffix != _SUFFIX:
        return False
    return path.name.startswith(prefix) or not _read_object(path, files).keys().isdisjoint(fields)


def _session_id(path: Path, store: _Store) -> str | None:
    """Return the session's id, or None if the file is not a session's."""
    if store.files.is_folder(store.messages / path.stem):
        return path.stem
    row = _read_object(path, store.files)
    is_session = isinstance(row.get("time"), dict) and "role" not in row and "type" not in row
    return _file_name(row.get("id")) if is_session else None


def _message_files(store: _Store, session: str) -> Iterator[Path]:
    for message in _json_files(store.messages / session, store.files):
        yield message
        parts = store.parts_folder(session, message.stem)
        if not store.files.is_folder(parts):
            message_id = _file_name(_read_object(message, store.files).get("id"))
            parts = store.parts_folder(session, message_id) if message_id is not None else parts
        yield from _json_files(parts, store.files)


def _is_first_without_session(path: Path, store: _Store) -> bool:
    if _has_session(path.parent.name, store):
        return False
    return path == next(iter(_json_files(path.parent, store.files)), None)


def _has_session(session: str, store: _Store) -> bool:
    files = store.files
    folders = [store.sessions] if store.is_older else files.entries(store.sessions)
    if any(files.is_file(folder / f"{session}{_SUFFIX}") for folder in folders):
        return True
    # Handmade stores name the file `ses_x` for the session `x`.
    return any(
        file.stem.endswith(session) for folder in folders for file in _json_files(folder, files)
    )


def _file_name(value: object) -> str | None:
    """Return a value that can be a file name; an id that leads to another folder cannot."""
    return value if isinstance(value, str) and Path(value).name == value else None


def _json_files(folder: Path, files: ArchiveFiles) -> list[Path]:
    """Return the JSON files in a folder, by name; none if the folder does not exist."""
    return [path for path in files.entries(folder) if path.suffix == _SUFFIX]


def _read_object(path: Path, files: ArchiveFiles) -> dict[str, Any]:
    """Return the JSON object in a small file; an empty one if there is none."""
    try:
        value = json.loads(files.start(path, _READ_BYTES))
    except (BadArchive, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _absolute(path: Path) -> Path:
    return path if is_object(path) else path.absolute()
