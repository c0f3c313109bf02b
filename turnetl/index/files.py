"""The files of an index, and the errors about them."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from turnetl.errors import IndexUnusable

CATALOG, LEXICAL, VECTORS, LOCK = "catalog.sqlite", "lexical", "vectors", "lock.sqlite"


class DamagedFile(Exception):
    """A file does not have the content that was written."""


class DamagedIndex(IndexUnusable):
    """A file of the index is damaged or missing."""

    def __init__(self, folder: Path, reason: str) -> None:
        self.damage = f"the search index `{folder}` is damaged ({reason})"
        """What happened, without what to do."""
        super().__init__(f"{self.damage}: run `turnetl index --rebuild`")


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Raise errors of files and databases as errors about the index.

    Raises:
        DamagedIndex: a file is damaged or missing.
        IndexUnusable: the folder cannot be written.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _unusable(folder, str(error)) from error
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from error
    except (sqlite3.DatabaseError, zlib.error, msgspec.DecodeError, DamagedFile) as error:
        raise DamagedIndex(folder, str(error)) from error


def no_step(_name: str) -> None:
    """Do nothing before a file is written. A test stops the writer there."""


def folder_size(folder: Path) -> int:
    """Return the size of all files of a folder, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _unusable(folder: Path, reason: str) -> IndexUnusable:
    return IndexUnusable(
        f"the search index `{folder}` cannot be used ({reason}): make sure that its disk has free "
        "space and that you may write to it; `turnetl index --rebuild` rebuilds it"
    )
