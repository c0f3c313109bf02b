"""The copies of objects on this machine, each with the state of the object that it is a copy of.

The state of `name.parquet` is in `.name.etag` beside it, with size and modification time of the
copy: one that something else changed, or whose writer was killed, is no copy.
"""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from turnetl.base import private_files
from turnetl.base.object_url import state_path
from turnetl.lake.object_store import ObjectState
from turnetl.lake.temporary import (
    is_temporary,
    remove_abandoned,
    rename_open,
    temporary_file,
)

_PRUNED = ".pruned"
"""File whose modification time says when the copies were last pruned."""
DAY = 86_400
"""Seconds. A copy that was used later than that stays: a process may read it."""


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    e_tag: str
    version: str | None
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class ObjectCopies:
    """The copies in one folder."""

    root: Path

    def state(self, path: Path) -> ObjectState | None:
        """Return the state of the object that a file is a copy of; None if it is no copy."""
        try:
            stored = msgspec.json.decode(state_path(path).read_bytes(), type=_Stored)
            status = path.stat()
        except (OSError, msgspec.DecodeError):
            return None
        if (stored.size, stored.mtime_ns) != (status.st_size, status.st_mtime_ns):
            return None
        return ObjectState(stored.e_tag, stored.version)

    def put(self, path: Path, content: bytes, state: ObjectState) -> None:
        """Keep the content of an object.

        Raises:
            OSError: it cannot be written.
        """
        with temporary_file(path, self.root) as (temporary, file):
            file.write(content)
            file.flush()
            self.adopt(temporary, file, path, state)

    def adopt(self, temporary: Path, file: IO[bytes], path: Path, state: ObjectState) -> None:
        """Make a complete file, which is open, the copy of an object.

        Raises:
            OSError: it cannot be renamed.
        """
        if state.modified is not None:
            os.utime(temporary, (time.time(), state.modified.timestamp()))
        status = temporary.stat()
        stored = _Stored(state.e_tag, state.version, status.st_size, status.st_mtime_ns)
        # Removed first: it never describes another file than the one beside it.
        state_path(path).unlink(missing_ok=True)
        rename_open(temporary, file, path)
        with temporary_file(state_path(path), self.root) as (new, state_file):
            state_file.write(msgspec.json.encode(stored))
            state_file.flush()
            rename_open(new, state_file, state_path(path))

    def remove(self, path: Path) -> None:
        """Remove a copy, if there is one."""
        for file in (path, state_path(path)):
            with suppress(FileNotFoundError, NotADirectoryError):
                file.unlink()

    def remove_others(self, folder: Path, paths: Iterable[Path]) -> None:
        """Remove the files below a folder that are no copies of these objects.

        Args:
            folder: the folder.
            paths: of the objects below it.
        """
        kept = {file for path in paths for file in (path, state_path(path))}
        for below in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            remove_abandoned(below)
        for file in folder.rglob("*"):
            if file.is_file() and file not in kept and not is_temporary(file.name):
                file.unlink(missing_ok=True)

    def prune(self, max_bytes: int, now: float) -> None:
        """Remove the copies that were used longest ago while all take more than a number of bytes.

        Does nothing within a day of the last time.

        Args:
            max_bytes: of all copies.
            now: seconds since the epoch.
        """
        mark = self.root / _PRUNED
        with suppress(OSError):
            if mark.exists() and now - mark.stat().st_mtime < DAY:
                return
            private_files.create_folder(self.root)
            mark.touch(0o600)
            os.utime(mark, (now, now))
            self._prune(max_bytes, now)

    def _prune(self, max_bytes: int, now: float) -> None:
        copies = [(path, path.stat()) for path in self.root.rglob("*") if path.is_file()]
        total = sum(status.st_size for _, status in copies)
        for path, status in sorted(
            copies, key=lambda copy: max(copy[1].st_atime, copy[1].st_ctime)
        ):
            if total <= max_bytes or now - max(status.st_atime, status.st_ctime) < DAY:
                return
            self.remove(path)
            total -= status.st_size
