"""The files of an index, their lock, and the errors about them."""

import os
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from errno import EEXIST, ENOTEMPTY
from pathlib import Path
from stat import S_IMODE, S_IRGRP, S_IROTH, S_IRUSR, S_IRWXU
from urllib.parse import urlsplit

import msgspec

from turnetl.base import ids, private_files
from turnetl.base.errors import IndexBusy, IndexUnusable
from turnetl.base.sqlite import is_busy, sqlite_path
from turnetl.graph.open import embedded_file

FOLDER = "index"
"""Name of the folder in the lake that holds the indexes of all graphs."""


def index_folder(lake: Path, graph_url: str) -> Path:
    """Return the folder of the index of a graph.

    User and password make no difference. The file of a graph in the lake counts by its path there,
    so that a lake that is moved or copied keeps its index.
    """
    file = embedded_file(graph_url)
    if file is not None and file.resolve().is_relative_to(lake.resolve()):
        address = file.resolve().relative_to(lake.resolve()).as_posix()
    else:
        parts = urlsplit(graph_url)
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return lake / FOLDER / ids.digest(address)


def lake_of(folder: Path) -> Path:
    return folder.parent.parent


@dataclass(frozen=True, slots=True)
class IndexEmbedder:
    """The embedder of an index: vectors of another one cannot be compared."""

    name: str
    dimensions: int


def check_embedder(recorded: IndexEmbedder, configured: IndexEmbedder) -> None:
    """Raise IndexUnusable if the index cannot be compared with vectors of this embedder."""
    if recorded != configured:
        raise IndexUnusable(
            f"the search index was made with the embedder `{recorded.name}` of "
            f"{recorded.dimensions} dimensions, and `{configured.name}` of "
            f"{configured.dimensions} is configured: run `turnetl index --rebuild`, or "
            "restore the setting"
        )


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Exclude other writers of the index in a folder; SQLite's lock ends with its process."""
    # Not opened here: to close it would release the locks of another writer in this process.
    private_files.check_no_link(folder / LOCK)
    private_files.ensure_file(folder / LOCK)
    connection = sqlite3.connect(sqlite_path(folder / LOCK), timeout=0, isolation_level=None)
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            raise _busy(folder) from error
        with _named_writer(folder / WRITER):
            yield


@contextmanager
def _named_writer(path: Path) -> Iterator[None]:
    """Store the id of this process for the messages of others. A full disk is reported later."""
    with suppress(OSError), private_files.open_or_create(path) as file:
        file.truncate(0)
        file.write(str(os.getpid()).encode())
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def _busy(folder: Path) -> IndexBusy:
    number = ""
    with suppress(OSError):
        number = private_files.read_whole(folder / WRITER).decode(errors="replace")
    process = f" (process {number})" if number.isdigit() else ""
    return IndexBusy(f"another turnetl process{process} updates the search index `{folder}`")


CATALOG, LEXICAL, VECTORS, LOCK = "catalog.sqlite", "lexical", "vectors", "lock.sqlite"
SEARCH_VECTORS = "search-vectors"
"""Folder with a folder for the embedder that the user chose for the search."""
_JOURNAL = f"{CATALOG}-journal"
"""SQLite's record of an unfinished transaction of the catalog."""
WRITER = f"{LOCK}-writer"
"""The id of the process that holds the lock."""
_OTHER_LAKE = (
    "its folder may not be written: run the command as a user who may write it, or name a copy of "
    "the lake with --lake"
)
_READ = S_IRUSR | S_IRGRP | S_IROTH
_RIGHTS = 0o777
"""Bits of SQLite's primary result code."""


class DamagedFile(Exception):
    """A file does not have the content that was written."""


class DamagedIndex(IndexUnusable):
    """A file of the index is damaged or missing."""

    def __init__(self, folder: Path, reason: str) -> None:
        self.reason = reason
        self.damage = f"the search index `{folder}` is damaged ({reason})"
        """What happened, without what to do."""
        remedy = "run `turnetl index --rebuild`"
        super().__init__(f"{self.damage}: {_OTHER_LAKE if _is_read_only(folder) else remedy}")


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Raise errors of files and databases as `IndexBusy`, `DamagedIndex` or `IndexUnusable`."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if is_busy(error):
            raise IndexBusy(f"another process has the search index `{folder}` locked") from error
        if (folder / _JOURNAL).exists() and not os.access(folder, os.W_OK):
            raise IndexUnusable(
                f"the search index `{folder}` has a transaction that a killed process left "
                "unfinished, and its folder may not be written to undo it: run `turnetl index` as "
                "a user who may write it, or name a copy of the lake that you may write to with "
                "--lake"
            ) from error
        raise _unusable(folder, str(error)) from error
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from error
    except (sqlite3.DatabaseError, zlib.error, msgspec.DecodeError, DamagedFile) as error:
        raise DamagedIndex(folder, str(error)) from error


def no_step(_name: str) -> None:
    """Do nothing before a file is written. A test stops the writer there."""


def identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if it does not exist."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def check_regular(folder: Path) -> None:
    """Raise DamagedFile unless an index consists of regular files: opening a pipe blocks."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.exists() and not path.is_file():
                raise DamagedFile(f"`{path.relative_to(folder)}` is no regular file")


def share(folder: Path, like: Path) -> None:
    """Let those who may read the catalog `like` read the words and vectors of an index too.

    Only what is the user's own can be changed. Tantivy lets nobody else read what it writes.
    """
    mode = S_IMODE(like.stat().st_mode)
    # Who may read a file may enter its folder.
    folder_mode = S_IRWXU | mode | (mode & _READ) >> 2
    for part in (folder / LEXICAL, folder / VECTORS, folder / SEARCH_VECTORS):
        for path in (part, *part.rglob("*")):
            # A merge may remove a file meanwhile.
            with suppress(PermissionError, FileNotFoundError):
                required = folder_mode if path.is_dir() else mode
                current = S_IMODE(path.stat().st_mode)
                if current & _RIGHTS != required:
                    path.chmod(current & ~_RIGHTS | required)


def folder_size(folder: Path) -> int:
    size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            # Another process may have deleted it meanwhile.
            with suppress(FileNotFoundError):
                size += (Path(path) / name).stat().st_size
    return size


def _is_read_only(folder: Path) -> bool:
    """Return whether the folder, or the one to create it in, may not be written."""
    existing = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    return not os.access(existing, os.W_OK)


def _unusable(folder: Path, reason: str) -> IndexUnusable:
    problem = f"the search index `{folder}` cannot be used ({reason})"
    if _is_read_only(folder):
        return IndexUnusable(f"{problem}: {_OTHER_LAKE}")
    return IndexUnusable(
        f"{problem}: make sure that its disk has free "
        "space and that you may write to it; `turnetl index --rebuild` rebuilds it"
    )


def delete_folder(folder: Path) -> None:
    """Delete a folder of an index; Tantivy may create a lock in it at the same time."""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        if error.errno not in (ENOTEMPTY, EEXIST):
            raise
        shutil.rmtree(folder)
