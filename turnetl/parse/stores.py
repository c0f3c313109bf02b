"""OpenCode's store on disk: one JSON file a session, a message and a part, in folders of their own.

    session/<project>/<session>.json   message/<session>/<message>.json   part/<message>/<part>.json

and in the older layout `session/info/<session>.json`, `session/message/<session>/<message>.json`
and `session/part/<session>/<message>/<part>.json`. A session's archive is its file; what is read is
that file with those of its messages and their parts behind it. Nothing here raises for a file.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ENDING = ".json"
_KEPT = ("project", "todo", "session_diff", "session_share", "share", "permission")
_MOST = 1 << 20
"""Bytes that are looked at where a name does not tell; such files are far smaller."""


@dataclass(frozen=True, slots=True)
class _Store:
    """Where the files of one store are."""

    sessions: Path
    """Holds a folder a project; in the older layout the sessions themselves."""
    messages: Path
    parts: Path
    is_older: bool

    def parts_of(self, session: str, message: str) -> Path:
        return self.parts / session / message if self.is_older else self.parts / message


def members(path: Path) -> Sequence[Path] | None:
    """Return the files that an archive of a store stands for, or None if it is none.

    The session first, then each message followed by its parts, in the order of their names, which
    is that of time. Messages without a session file stand under the first of them. Files are opened
    only where their names do not tell.
    """
    path = path.absolute()
    if (store := _of_session(path)) is not None and (session := _session(path, store)) is not None:
        return [path, *_said(store, session)]
    if (store := _of_message(path)) is not None and _is_first_without_session(path, store):
        return list(_said(store, path.parent.name))
    return None


def belongs(path: Path) -> bool:
    """Say whether a file is part of a store and no archive of its own.

    That is a message, a part of one, or what OpenCode keeps beside them and nobody said.
    """
    path = path.absolute()
    if (store := _of_message(path)) is not None:
        return not _is_first_without_session(path, store)
    return _is_part(path) or _is_beside(path)


def without_message(files: Iterable[Path]) -> list[tuple[Path, int]]:
    """Return the folders of parts whose message is gone, sorted, and how many parts each holds.

    Args:
        files: such as `belong` to a store.
    """
    held = Counter(path.absolute().parent for path in files)
    of: dict[Path, dict[str, Path]] = {}
    for folder in held:
        if (messages := _messages_of(folder)) is not None:
            of.setdefault(messages, {})[folder.name] = folder
    left = (folder for messages, parts in of.items() for folder in _unclaimed(parts, messages))
    return [(folder, held[folder]) for folder in sorted(left)]


def _messages_of(parts: Path) -> Path | None:
    """Return the folder below which the message of these parts lies; None if they are no parts."""
    for at, session in ((parts.parent, ""), (parts.parent.parent, parts.parent.name)):
        if at.name == "part" and (at.parent / "message").is_dir():
            return at.parent / "message" / session
    return None


def _unclaimed(parts: Mapping[str, Path], messages: Path) -> list[Path]:
    files = [*messages.glob(f"*{_ENDING}"), *messages.glob(f"*/*{_ENDING}")]
    # Ids count only where no parts bear the name of the file: see `_said`.
    ids = {_name(_object(file).get("id")) for file in files if file.stem not in parts}
    claimed = ids | {file.stem for file in files}
    return [folder for name, folder in parts.items() if name not in claimed]


def _of_session(path: Path) -> _Store | None:
    folder = path.parent.parent
    if path.suffix != _ENDING or folder.name != "session":
        return None
    return _older(folder) if path.parent.name == "info" else _newer(folder.parent)


def _of_message(path: Path) -> _Store | None:
    folder = path.parent.parent
    if folder.name != "message" or not _is_one(path, "msg_", "sessionID", "metadata"):
        return None
    return _older(folder.parent) if folder.parent.name == "session" else _newer(folder.parent)


def _is_part(path: Path) -> bool:
    folder = path.parent.parent
    found = (at for at in (folder, folder.parent) if at.name == "part")
    beside = any((at.parent / "message").is_dir() for at in found)
    return beside and _is_one(path, "prt_", "messageID")


def _is_beside(path: Path) -> bool:
    root = path.parent.parent
    kept = path.suffix == _ENDING and path.parent.name in _KEPT
    return kept and all((root / name).is_dir() for name in ("session", "message", "part"))


def _newer(root: Path) -> _Store:
    return _Store(root / "session", root / "message", root / "part", is_older=False)


def _older(root: Path) -> _Store:
    return _Store(root / "info", root / "message", root / "part", is_older=True)


def _is_one(path: Path, name: str, *fields: str) -> bool:
    """Say whether a file is of a kind: by its name, else by having one of these fields."""
    if path.suffix != _ENDING:
        return False
    return path.name.startswith(name) or not _object(path).keys().isdisjoint(fields)


def _session(path: Path, store: _Store) -> str | None:
    """Return the session's id, or None if the file does not look like a session's."""
    if (store.messages / path.stem).is_dir():
        return path.stem
    said = _object(path)
    is_session = isinstance(said.get("time"), dict) and "role" not in said and "type" not in said
    return _name(said.get("id")) if is_session else None


def _said(store: _Store, session: str) -> Iterator[Path]:
    """Yield the messages of a session, each followed by its parts."""
    for message in _files(store.messages / session):
        yield message
        parts = store.parts_of(session, message.stem)
        if not parts.is_dir() and (named := _name(_object(message).get("id"))) is not None:
            parts = store.parts_of(session, named)
        yield from _files(parts)


def _is_first_without_session(path: Path, store: _Store) -> bool:
    if _has_session(path.parent.name, store):
        return False
    return path == next(iter(_files(path.parent)), None)


def _has_session(session: str, store: _Store) -> bool:
    folders = [store.sessions] if store.is_older else _entries(store.sessions)
    if any((folder / f"{session}{_ENDING}").is_file() for folder in folders):
        return True
    # Stores made by hand call the file `ses_x` where the session is `x`.
    return any(file.stem.endswith(session) for folder in folders for file in _files(folder))


def _name(value: object) -> str | None:
    """Return what can be a file's name; an id that leads elsewhere is none."""
    return value if isinstance(value, str) and Path(value).name == value else None


def _files(folder: Path) -> list[Path]:
    """Return the JSON files in a folder, by name; none if there is no such folder."""
    return [path for path in _entries(folder) if path.suffix == _ENDING]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError):
        return []


def _object(path: Path) -> dict[str, Any]:
    """Return the object in a small file; an empty one if there is none."""
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(_MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
