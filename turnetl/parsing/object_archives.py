"""Archives in object stores, read where they are: no object is kept on this machine.

An archive is parsed from its bytes in memory, as a file is, so that a copy on the disk would save
nothing and would hold secrets.
"""

import io
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from turnetl.base.errors import ArchivesBusy, BadArchive, Fatal
from turnetl.base.object_url import SCHEMES, ObjectUrl, url_text
from turnetl.base.reason import SkipReason
from turnetl.lake.object_store import ObjectChanged, ObjectState, ObjectStore, StoreFailure
from turnetl.lake.parallel import in_parallel
from turnetl.parsing.archive_files import ArchiveFile
from turnetl.parsing.problems import bad_archive
from turnetl.parsing.walk import (
    WITHOUT_SUFFIX,
    FoundFile,
    OnProblem,
    has_archive_suffix,
    unread_kind,
)

REQUESTS = 16
PART_BYTES = 32 << 20
"""Bytes of one request: it ends within its timeout also on a slow network."""
_INVALID_NAME = (
    "cannot be listed, because the name of an object in it has an empty part, `.`, `..` or a "
    "control character; rename that object, or name other folders"
)
_ATTEMPTS = 3
"""How often an object is read that is replaced meanwhile."""


class ObjectArchives:
    """Objects; see `ArchiveFiles`. What was listed or asked for once is not asked for again.

    `allow_http` has the schemes of URLs whose endpoint may be one without TLS.
    """

    def __init__(
        self,
        allow_http: Collection[str] = (),
        part_bytes: int = PART_BYTES,
        open_store: type[ObjectStore] = ObjectStore,
    ) -> None:
        self._allow_http, self._part_bytes = frozenset(allow_http), part_bytes
        self._open_store = open_store
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["ObjectArchives"], tuple[Any, ...]]:
        # A worker process asks for what it needs: its environment has the same credentials.
        return type(self), (self._allow_http, self._part_bytes, self._open_store)

    @property
    def schemes(self) -> Collection[str]:
        return SCHEMES

    def parallel_reads(self, _: Path) -> int:
        return REQUESTS

    def look_up(self, paths: Iterable[Path]) -> None:
        unknown = [path for path in paths if not self._is_known(path)]
        for path, state in zip(unknown, in_parallel(self._head, unknown, REQUESTS), strict=True):
            if not isinstance(state, BadArchive):
                bucket, name = self._place(path)
                bucket.states[name] = state

    def state(self, path: Path) -> ArchiveFile:
        state = self._known_state(path)
        if state is None:
            raise bad_archive(path, SkipReason.MISSING, "does not exist; check the URL")
        return _archive_file(path, state)

    def read(self, file: ArchiveFile) -> tuple[bytes, ArchiveFile]:
        bucket, name = self._place(file.path)
        size = file.size
        for _ in range(_ATTEMPTS):
            with _asking(file.path), suppress(ObjectChanged):
                data, state = self._content(bucket.store, name, size)
                return data, _archive_file(file.path, state)
            size = 0
        what = "was replaced each time while it was read; run again to read it"
        raise bad_archive(file.path, SkipReason.UNREADABLE, what)

    def start(self, path: Path, size: int) -> bytes:
        bucket, name = self._place(path)
        # No range of an empty object can be read.
        with _asking(path), suppress(ObjectChanged):
            return bucket.store.read_range(name, 0, size)[0] if size else b""
        return b""

    def is_file(self, path: Path) -> bool:
        return self._known_state(path) is not None

    def is_folder(self, path: Path) -> bool:
        bucket, name = self._listed(path)
        return bool(bucket.names(name) or bucket.omitted_below(name))

    def entries(self, folder: Path) -> list[Path]:
        bucket, name = self._listed(folder)
        return [folder / entry for entry in bucket.names(name)]

    def walk(self, folder: Path, on_problem: OnProblem) -> Iterator[FoundFile]:
        bucket, name = self._listed(folder)
        for omitted in bucket.omitted_below(name):
            below = folder / omitted.removeprefix(name).removeprefix("/")
            on_problem(str(below), SkipReason.UNREADABLE, _INVALID_NAME)
        for found in bucket.below(name):
            path = str(folder / found.removeprefix(name).removeprefix("/"))
            entry = found.rpartition("/")[2]
            if has_archive_suffix(found) or entry in WITHOUT_SUFFIX:
                yield FoundFile(path, path)
            elif entry:  # the name of an empty object that stands for a folder ends with a slash
                on_problem(path, *unread_kind(path))

    def _content(self, store: ObjectStore, name: str, size: int) -> tuple[bytes, ObjectState]:
        """Return an object, which has another size than 0 if `size` is not 0."""
        if not size and not (state := store.head(name)).size:
            return b"", state
        part, state = store.read_range(name, 0, self._part_bytes)
        if len(part) == state.size:
            return part, state
        data = io.BytesIO()
        while data.write(part) and data.tell() < (state.size or 0):
            end = data.tell() + self._part_bytes
            part, current = store.read_range(name, data.tell(), end)
            if current != state:
                raise ObjectChanged
        return data.getvalue(), state

    def _is_known(self, path: Path) -> bool:
        bucket, name = self._place(path)
        return bucket.is_known(name)

    def _known_state(self, path: Path) -> ObjectState | None:
        bucket, name = self._place(path)
        if not bucket.is_known(name):
            state = self._head(path)
            if isinstance(state, BadArchive):
                raise state
            bucket.states[name] = state
        return bucket.states.get(name)

    def _head(self, path: Path) -> ObjectState | BadArchive | None:
        """Ask for the state of an object; None: there is none."""
        bucket, name = self._place(path)
        try:
            with _asking(path):
                return bucket.store.head(name) if name else None
        except BadArchive as error:
            return None if error.reason is SkipReason.MISSING else error

    def _listed(self, folder: Path) -> tuple["_Bucket", str]:
        """Return where a folder is, after it was listed."""
        bucket, name = self._place(folder)
        if not bucket.is_listed(name):
            with _asking(folder):
                bucket.list(name)
        return bucket, name

    def _place(self, path: Path) -> tuple["_Bucket", str]:
        """Return the bucket of a path, and the name of the object in it."""
        scheme, _, rest = (url_text(str(path)) or "").partition("://")
        bucket, _, name = rest.partition("/")
        with self._lock:
            if (scheme, bucket) not in self._buckets:
                url = ObjectUrl(scheme, bucket, "")
                store = self._open_store(
                    url, allow_http=scheme in self._allow_http, translate=_translated
                )
                self._buckets[scheme, bucket] = _Bucket(store)
            return self._buckets[scheme, bucket], name


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The objects of a bucket that are known, as files in folders."""

    store: ObjectStore
    states: dict[str, ObjectState | None] = field(default_factory=dict)
    """By name; None: there is no such object."""
    omitted: set[str] = field(default_factory=set)
    """The folders that cannot be listed because of a name in them."""
    _names: dict[str, set[str]] = field(default_factory=dict)
    """The names in each folder that was listed."""
    _listed: set[str] = field(default_factory=set)

    def list(self, folder: str) -> None:
        """Ask for all objects below a folder; the folder of all objects has no name."""
        states = self._states_below(folder)
        self._listed.add(folder)
        self.states.update(states)
        for name in states:
            for below in _and_above(name)[1:]:
                parent, _, entry = below.rpartition("/")
                self._names.setdefault(parent, set()).add(entry)

    def is_listed(self, folder: str) -> bool:
        """Return whether all objects below a folder are known."""
        return any(above in self._listed for above in _and_above(folder))

    def is_known(self, name: str) -> bool:
        """Return whether it is known if there is an object with a name."""
        return name in self.states or self.is_listed(name.rpartition("/")[0])

    def names(self, folder: str) -> Sequence[str]:
        """Return the names in a folder that was listed, sorted."""
        return sorted(self._names.get(folder, ()))

    def below(self, folder: str) -> Sequence[str]:
        """Return the objects below a folder that was listed, sorted."""
        prefix = f"{folder}/" if folder else ""
        return sorted(
            name
            for name, state in self.states.items()
            if state is not None and name.startswith(prefix)
        )

    def _states_below(self, folder: str) -> Mapping[str, ObjectState]:
        """Return all objects below a folder but those in folders that cannot be listed."""
        try:
            return self.store.states(folder)
        except _InvalidName:
            states, pending = self.store.folder(folder)
        while pending:
            below = pending.pop()
            try:
                found, folders = self.store.folder(below)
            except _InvalidName:
                self.omitted.add(below)
            else:
                states |= found
                pending += folders
        return states

    def omitted_below(self, folder: str) -> Sequence[str]:
        """Return the folders below a folder that could not be listed, sorted."""
        prefix = f"{folder}/" if folder else ""
        return sorted(omitted for omitted in self.omitted if omitted.startswith(prefix))


def _and_above(folder: str) -> Sequence[str]:
    """Return the folder of all objects, and each one on the way to a folder, with itself."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:number]) for number in range(len(parts) + 1)]


class _Unavailable(Exception):
    """An object or a folder cannot be read; the others may."""

    def __init__(self, reason: SkipReason, what: str) -> None:
        super().__init__(what)
        self.reason, self.what = reason, what


class _InvalidName(_Unavailable):
    """A folder cannot be listed because of a name in it."""


@contextmanager
def _asking(path: Path) -> Iterator[None]:
    """Raise `BadArchive` for what prevents that one object or folder is read."""
    try:
        yield
    except FileNotFoundError:
        raise bad_archive(path, SkipReason.MISSING, "does not exist; check the URL") from None
    except _Unavailable as error:
        raise bad_archive(path, error.reason, error.what) from None


def _translated(url: ObjectUrl, failure: StoreFailure, status: str | None) -> Exception:
    match failure:
        case StoreFailure.NO_ANSWER:
            return ArchivesBusy(
                f"the object store of the archives in `{url}` did not answer: check the network "
                "and the endpoint, then repeat the command"
            )
        case StoreFailure.NO_CREDENTIALS:
            return Fatal(
                f"there are no valid credentials for the archives in `{url}`: set those of the "
                "provider in this environment, as docs/object-storage.md describes"
            )
        case StoreFailure.NO_BUCKET:
            what = "is in a bucket that does not exist; check the URL"
            return _Unavailable(SkipReason.MISSING, what)
        case StoreFailure.REFUSED:
            what = (
                f"cannot be read, because the object store refuses access (status {status}); check "
                "that the credentials in this environment may list and read it"
            )
        case StoreFailure.INVALID_NAME:
            return _InvalidName(SkipReason.UNREADABLE, _INVALID_NAME)
        case _:
            what = (
                f"cannot be read, because the object store refused the request (status {status}); "
                "check bucket, region and endpoint"
            )
    return _Unavailable(SkipReason.UNREADABLE, what)


def _archive_file(path: Path, state: ObjectState) -> ArchiveFile:
    # A listing and a response differ in quotes of the tag, and in fractions of the second.
    seconds = int(state.modified.timestamp()) if state.modified is not None else 0
    e_tag = state.e_tag.removeprefix("W/").strip('"')
    return ArchiveFile(path, state.size or 0, seconds * 1_000_000_000, e_tag)
