"""The turns that stay forgotten: `forgotten.json` in the lake, with digests instead of ids.

The digests have a random key, so that a list alone does not show whether it holds a known id.
"""

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from zlib import crc32

import msgspec

from turnetl.base import ids
from turnetl.base.errors import Fatal, LakeChanged
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.base.private_files import read_whole
from turnetl.lake.files import LakeFiles
from turnetl.lake.paths import FORGOTTEN_TURNS

FILE = FORGOTTEN_TURNS
_KEY_BYTES = 16
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class ForgottenTurns:
    """The list of a lake. An empty one includes nothing."""

    key: str = ""
    """Key of the digests, in hex."""
    groups: tuple[GroupId, ...] = ()
    """Groups that the turns had when they were forgotten, sorted: ids of turns depend on them."""
    turns: frozenset[str] = frozenset()
    """Digests of turn ids."""
    sessions: frozenset[str] = frozenset()
    """Digests of the ids of sessions of which no turn is accepted, whatever its group."""
    is_complete: bool = True
    """Whether everything that the turns left was removed."""

    def __bool__(self) -> bool:
        return bool(self.turns or self.sessions)

    def includes(self, turn: TurnId, session: SessionId | None) -> bool:
        return self._includes_session(session) or (
            bool(self.turns) and _digest(self.key, turn) in self.turns
        )

    def lacks(self, keys: Collection[str]) -> bool:
        """Return whether one of these keys of runs is not listed, or perhaps not removed yet."""
        return bool(keys) and not (
            self.is_complete and all(self.includes(TurnId(key), None) for key in keys)
        )

    def includes_native(self, format_name: str, native: str, session: SessionId | None) -> bool:
        """Return whether the turn whose prompt has this id is forgotten, whatever its group."""
        return self._includes_session(session) or any(
            _digest(self.key, ids.turn_id(group, format_name, native)) in self.turns
            for group in self.groups
        )

    def extended(
        self, turns: Iterable[tuple[GroupId, TurnId]], sessions: Iterable[SessionId] = ()
    ) -> "ForgottenTurns":
        """Return the list with more turns and sessions, whose removal is not complete."""
        key = self.key or os.urandom(_KEY_BYTES).hex()
        listed = list(turns)
        return ForgottenTurns(
            key=key,
            groups=tuple(sorted({*self.groups, *(group for group, _ in listed)})),
            turns=self.turns | {_digest(key, turn) for _, turn in listed},
            sessions=self.sessions | {_digest(key, session) for session in sessions},
            is_complete=False,
        )

    def _includes_session(self, session: SessionId | None) -> bool:
        return (
            bool(self.sessions)
            and session is not None
            and (_digest(self.key, session) in self.sessions)
        )


NOTHING = ForgottenTurns()


class _ForgottenFile(msgspec.Struct, forbid_unknown_fields=True):
    """The file: a list with the fields of `ForgottenTurns`, and its checksum."""

    key: str = ""
    groups: tuple[GroupId, ...] = ()
    turns: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    is_complete: bool = True
    checksum: str = ""
    """Empty if an earlier version wrote the list. A flipped bit would bring a turn back in
    silence."""

    @property
    def list(self) -> ForgottenTurns:
        return ForgottenTurns(self.key, self.groups, self.turns, self.sessions, self.is_complete)


def read_forgotten(files: LakeFiles) -> ForgottenTurns:
    """Return the list of a lake; unreadable, it raises `Fatal`: turns would come back."""
    path = files.root / FILE
    files.fetch([path])
    try:
        stored = msgspec.json.decode(read_whole(path), type=_ForgottenFile)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise _unusable(files.name(path), error) from error
    if stored.checksum not in ("", _checksum(stored.list)):
        raise _unusable(files.name(path), None)
    return stored.list


def _checksum(forgotten: ForgottenTurns) -> str:
    return f"{crc32(msgspec.json.encode(forgotten, order='sorted')):08x}"


def _unusable(name: str, error: Exception | None) -> Fatal:
    newer = "unknown field" in str(error)
    cause = "has fields that this turnetl does not know" if newer else "cannot be read"
    remedy = "if a newer turnetl wrote it, update turnetl; else " if newer else ""
    return Fatal(
        f"the list of forgotten turns, `{name}`, {cause}: {remedy}restore it from a backup; "
        "without one, move it away, forget the turns again and only then parse"
    )


def write_forgotten(files: LakeFiles, forgotten: ForgottenTurns) -> None:
    """Write the list atomically and durably; raise `LakeChanged` if it was replaced."""
    path = files.root / FILE
    values = {**msgspec.to_builtins(forgotten, order="sorted"), "checksum": _checksum(forgotten)}
    data = msgspec.json.format(msgspec.json.encode(values, order="sorted"))
    try:
        files.replace(path, lambda file: file.write(data))
        files.sync(files.root)
    except OSError as error:
        raise Fatal(
            f"the list of forgotten turns, `{files.name(path)}`, cannot be written "
            f"({error.strerror}): free some disk space, then repeat the command"
        ) from error


def rewrite_forgotten(
    files: LakeFiles, change: Callable[[ForgottenTurns], ForgottenTurns]
) -> ForgottenTurns:
    """Change the list, and return it; `change` is called again if another process wrote it."""
    attempts = 0
    while True:
        attempts += 1
        forgotten = change(read_forgotten(files))
        try:
            write_forgotten(files, forgotten)
        except LakeChanged:
            if attempts == _ATTEMPTS:
                raise
        else:
            return forgotten


def complete_forgotten(
    files: LakeFiles, forgotten: ForgottenTurns, *, is_complete: bool = True
) -> None:
    """Say whether all of the list was removed, unless another process extended it meanwhile."""
    rewrite_forgotten(
        files,
        lambda listed: replace(listed, is_complete=is_complete) if listed == forgotten else listed,
    )


def _digest(key: str, text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16, key=bytes.fromhex(key)).hexdigest()
