"""The trust store: a file of the user with the folders that the user trusts.

It is written as a whole under a lock, so that two processes lose nothing of each other.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE

import msgspec

from turnetl.base import private_files
from turnetl.base.errors import Fatal
from turnetl.base.private_files import NotReadable, read_regular

if sys.platform != "win32":
    import fcntl

_NAME = "trust.json"
_LOCK_NAME = "trust.lock"
_VERSION = 1
_MAX_BYTES = 16_000_000
_WRITABLE_BY_OTHERS = 0o022


class TrustedFolder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    trusted_at: str
    """ISO 8601, in UTC."""
    files: dict[str, str]
    """SHA-256 by name of each file of its configuration."""


class _StoredTrust(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    folders: dict[str, TrustedFolder]
    """By absolute path, without links."""


def store_path(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_STATE_HOME/turnetl/trust.json`, if absolute, or that in `~/.local/state`."""
    state = Path(environment.get("XDG_STATE_HOME", ""))
    base = state if state.is_absolute() else home / ".local" / "state"
    return base / "turnetl" / _NAME


class TrustStore:
    """The file; it is read at each call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def folders(self) -> dict[Path, TrustedFolder]:
        """Return the trusted folders, sorted by path; others must not own or write the file."""
        return {Path(path): folder for path, folder in sorted(self._read().items())}

    def trust(self, folder: Path, record: TrustedFolder) -> None:
        """Trust a folder, in place of what was trusted of it before."""
        self._change(lambda folders: folders.update({str(folder): record}))

    def revoke(self, folder: Path) -> bool:
        """Trust a folder no longer; return whether it was trusted."""
        removed: list[TrustedFolder | None] = []
        self._change(lambda folders: removed.append(folders.pop(str(folder), None)))
        return removed != [None]

    def _change(self, change: Callable[[dict[str, TrustedFolder]], object]) -> None:
        try:
            private_files.create_folder(self.path.parent)
            with _locked(self.path.with_name(_LOCK_NAME)):
                folders = self._read()
                change(folders)
                content = msgspec.json.encode(_StoredTrust(_VERSION, folders))
                private_files.write_whole(self.path, msgspec.json.format(content, indent=2))
        except OSError as error:
            raise Fatal(
                f"the trust store `{self.path}` cannot be written: {error.filename or self.path}: "
                f"{error.strerror}; correct that, and run the command again"
            ) from error

    def _read(self) -> dict[str, TrustedFolder]:
        if not os.path.lexists(self.path):
            return {}
        try:
            content = read_regular(self.path, _MAX_BYTES)
            self._check_owner()
            stored = msgspec.json.decode(content, type=_StoredTrust)
        except NotReadable as error:
            raise self._unusable(str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._unusable("is not valid") from error
        if stored.version != _VERSION:
            raise self._unusable(f"has version {stored.version}, not {_VERSION}")
        return stored.folders

    def _check_owner(self) -> None:
        if sys.platform == "win32":
            return
        status = self.path.lstat()
        if status.st_uid != os.geteuid():
            raise self._unusable("belongs to another user")
        if S_IMODE(status.st_mode) & _WRITABLE_BY_OTHERS:
            raise self._unusable("may be written by other users")

    def _unusable(self, problem: str) -> Fatal:
        return Fatal(
            f"the trust store `{self.path}` {problem}, so that no folder is trusted: delete it, "
            "and run `turnetl trust` in each folder again"
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with private_files.open_or_create(path) as lock:
        # The system releases it when the file is closed, also if the process is killed.
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
