"""The files of a lake in an object store, read through copies on this machine.

Every reader of a table verifies all of its bytes, and polars and pyarrow read files: a copy that is
known by the object's entity tag costs no more than reading ranges; validating it transfers no body.
The state of `name.parquet` is in `.name.etag` beside it, with size and modification time of the
copy: one that something else changed, or whose writer was killed, is no copy.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from turnetl.base import private_files
from turnetl.base.errors import LakeChanged
from turnetl.base.object_url import ObjectUrl, state_path
from turnetl.lake.files import Check, Write
from turnetl.lake.object_store import ObjectChanged, ObjectState, ObjectStore
from turnetl.lake.parallel import in_parallel
from turnetl.lake.temporary import is_temporary, remove_abandoned, rename_open, temporary_file

REQUESTS = 16
"""Concurrent requests."""
MAX_BYTES = 10 << 30
"""Of the copies, beside those that were used within a day."""
FRESH_SECONDS = 2.0
"""Seconds for which a listing, a read or a write says what is current."""


class ObjectFiles:
    """The files below a URL; see `LakeFiles`. A worker process has the clock of its parent."""

    parallel_writes = REQUESTS
    has_versions = True

    def __init__(
        self,
        url: ObjectUrl,
        copies: Path,
        clock: Callable[[], float] = time.monotonic,
        *,
        allow_http: bool = False,
    ) -> None:
        self.root = url.below(copies)
        self._url, self._clock, self._allow_http = url, clock, allow_http
        self._copies = ObjectCopies(copies)
        self._seen: dict[Path, ObjectState | None] = {}
        """The last known state of files; None: there was none."""
        self._listed: set[Path] = set()
        """The folders that were listed."""
        self._seen_at: dict[Path, float] = {}
        """When, by the clock."""
        self._store: ObjectStore | None = None
        self._lock = threading.Lock()
        self._is_checked = False

    def __getstate__(self) -> dict[str, Any]:
        # A worker process opens the store again: its environment has the same credentials.
        return {**self.__dict__, "_store": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def name(self, path: Path) -> str:
        relative = path.relative_to(self.root).as_posix()
        return f"{self._url}/{relative}" if relative != "." else str(self._url)

    def check(self) -> None:
        """Check that the bucket exists, and remove copies if there are too many; once."""
        if not self._is_checked:
            self._opened().check()
            self._copies.prune(MAX_BYTES, time.time())
            self._is_checked = True

    def names(self, folder: Path) -> list[str]:
        states = self._list(folder)
        return sorted({path.relative_to(folder).parts[0] for path in states})

    def tree(self, folder: Path) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for path in self._list(folder):
            name, *below = path.relative_to(folder).parts
            if below:
                found.setdefault(name, set()).add(below[0])
        return {name: sorted(found[name]) for name in sorted(found)}

    def fetch(self, paths: Iterable[Path]) -> None:
        outdated = [path for path in paths if not self._is_current(path)]
        in_parallel(self._fetch, outdated, REQUESTS)

    def fetch_all(self, folder: Path) -> None:
        listed = self._list(folder)
        self._copies.remove_others(folder, listed)
        self.fetch(listed)

    def version(self, path: Path) -> str | None:
        state = self._seen.get(path)
        return state.e_tag if state is not None else None

    def replace(self, path: Path, write: Write, check: Check | None = None) -> None:  # noqa: ARG002
        """Replace an object in the state that was seen; without one, whatever its state is.

        An object that was not in a listing of its folder was seen too: there was none.
        """
        with temporary_file(path, self._copies.root) as (temporary, file):
            write(file)
            file.flush()
            content = temporary.read_bytes()
            expected = self._seen.get(path)
            was_listed = not self._listed.isdisjoint(path.parents)
            is_new = expected is None and (path in self._seen or was_listed)
            try:
                state = self._opened().write(self._key(path), content, expected, create=is_new)
            except ObjectChanged:
                self._check_same(path, content)
                return
            self._copies.adopt(temporary, file, path, state)
            self._saw(path, state)

    def create(self, path: Path, content: bytes) -> None:
        try:
            state = self._opened().write(self._key(path), content, None, create=True)
        except ObjectChanged:
            raise FileExistsError(17, "File exists", self.name(path)) from None
        self._copies.put(path, content, state)
        self._saw(path, state)

    def rename(self, path: Path, target: Path) -> None:
        """Copy an object and delete it: a process that is killed between leaves both."""
        self._opened().copy(self._key(path), self._key(target))
        self.delete(path)

    def delete(self, path: Path) -> None:
        self._opened().delete(self._key(path))
        self._copies.remove(path)
        self._saw(path, None)

    def sync(self, folder: Path) -> None:
        """Do nothing: an object is durable when its write is confirmed."""

    def _check_same(self, path: Path, content: bytes) -> None:
        """Check that what another process wrote is the same: its write is as good."""
        self._fetch(path)
        try:
            if path.read_bytes() == content:
                return
        except FileNotFoundError:
            pass
        raise LakeChanged(
            f"another process replaced or deleted `{self.name(path)}` while this one used it; "
            "repeat the command, which continues from there"
        )

    def _list(self, folder: Path) -> list[Path]:
        """Return the objects below a folder; remember their states, and that others are gone."""
        prefix = "" if folder == self.root else self._key(folder)
        states = self._opened().states(prefix)
        listed = {self.root / name: state for name, state in states.items()}
        now = self._clock()
        gone = [path for path in list(self._seen) if folder in path.parents and path not in listed]
        for path in gone:
            self._copies.remove(path)
        self._listed.add(folder)
        self._seen |= dict.fromkeys(gone) | listed
        self._seen_at |= dict.fromkeys([*listed, *gone], now)
        return sorted(listed)

    def _is_current(self, path: Path) -> bool:
        at = self._seen_at.get(path)
        if at is None or self._clock() - at > FRESH_SECONDS:
            return False
        seen = self._seen[path]
        if seen is None:
            self._copies.remove(path)
            return True
        copied = self._copies.state(path)
        return copied is not None and copied.e_tag == seen.e_tag

    def _fetch(self, path: Path) -> None:
        known = self._copies.state(path)
        try:
            read = self._opened().read(self._key(path), known)
        except FileNotFoundError:
            self._copies.remove(path)
            self._saw(path, None)
            return
        if read is None:
            self._saw(path, known)
            return
        content, state = read
        self._copies.put(path, content, state)
        self._saw(path, state)

    def _saw(self, path: Path, state: ObjectState | None) -> None:
        self._seen[path] = state
        self._seen_at[path] = self._clock()

    def _key(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _opened(self) -> ObjectStore:
        with self._lock:
            if self._store is None:
                self._store = ObjectStore(self._url, allow_http=self._allow_http)
            return self._store


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
        with temporary_file(path, self.root) as (temporary, file):
            file.write(content)
            file.flush()
            self.adopt(temporary, file, path, state)

    def adopt(self, temporary: Path, file: IO[bytes], path: Path, state: ObjectState) -> None:
        """Make a complete file, which is open, the copy of an object."""
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
        for file in (path, state_path(path)):
            with suppress(FileNotFoundError, NotADirectoryError):
                file.unlink()

    def remove_others(self, folder: Path, paths: Iterable[Path]) -> None:
        """Remove the files below a folder that are no copies of these objects."""
        kept = {file for path in paths for file in (path, state_path(path))}
        for below in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            remove_abandoned(below)
        for file in folder.rglob("*"):
            if file.is_file() and file not in kept and not is_temporary(file.name):
                file.unlink(missing_ok=True)

    def prune(self, max_bytes: int, now: float) -> None:
        """Remove the copies used longest ago while all have more than `max_bytes`; once a day."""
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
