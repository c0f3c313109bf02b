"""The lock that excludes a second writer of an index, also if the first one is killed."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from turnetl.base import private_files
from turnetl.base.errors import IndexBusy
from turnetl.base.sqlite_path import sqlite_path
from turnetl.index.files import LOCK, WRITER, is_busy


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Exclude other writers of the index in a folder; SQLite's lock ends with its process.

    Raises:
        IndexBusy: another process writes the index; says which.
        OSError: the file of the lock is a symbolic link, or cannot be created.
    """
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
