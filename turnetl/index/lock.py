"""The lock that excludes a second writer of an index, also if the first one is killed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from turnetl.errors import IndexBusy
from turnetl.index.files import LOCK


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Exclude other writers of the index in a folder; SQLite's lock ends with its process.

    Raises:
        IndexBusy: another process writes the index.
    """
    connection = sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise IndexBusy("another process updates the search index at the moment") from error
        yield
