"""Create and replace the index in a folder, while no other process does so."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from turnetl.base import private_files
from turnetl.base.errors import IndexBusy, IndexUnusable
from turnetl.index.catalog import Catalog, StoredQuestions
from turnetl.index.files import (
    CATALOG,
    LEXICAL,
    LOCK,
    DamagedIndex,
    IndexEmbedder,
    delete_folder,
    identity,
    lake_of,
    share,
    translated_errors,
    write_lock,
)
from turnetl.index.lexical import LexicalIndex
from turnetl.index.parts import IndexParts
from turnetl.index.snapshot import open_snapshot


def open_current(
    folder: Path, embedder: IndexEmbedder, open_parts: Callable[[], IndexParts], *, read_only: bool
) -> IndexParts:
    """Open an index, or create it; open it again if another process replaced it meanwhile."""
    path = folder / CATALOG
    while True:
        if not read_only:
            ensure_index(folder, embedder)
        before = identity(path)
        try:
            parts = open_parts()
        except Exception:
            if before is None or identity(path) == before:
                raise
            continue
        if identity(path) == before:
            return parts
        parts.close()


@contextmanager
def translated_or_busy(folder: Path, is_replaced: Callable[[], bool]) -> Iterator[None]:
    """As `translated_errors`, but raise IndexBusy about an index that was replaced: try again."""
    try:
        with translated_errors(folder):
            yield
    except IndexUnusable as error:
        if not is_replaced():
            raise
        message = f"another turnetl process replaced the search index `{folder}`"
        raise IndexBusy(message) from error


_WAIT = 10.0
"""Seconds for which another process may create the index."""
_INTERVAL = 0.02
_NEW = f"{CATALOG}-new"


def ensure_index(folder: Path, embedder: IndexEmbedder) -> None:
    """Create an empty index in a folder unless there is one; wait while another process does so."""
    deadline = time.monotonic() + _WAIT
    while not index_exists(folder):
        try:
            with write_lock(folder):
                create_index(folder, embedder)
        except IndexBusy:
            if time.monotonic() > deadline:
                raise
            time.sleep(_INTERVAL)


def create_index(folder: Path, embedder: IndexEmbedder) -> None:
    """Create an empty index unless there is one. The caller holds the lock."""
    if index_exists(folder):
        return
    _delete_files(folder)
    LexicalIndex(folder / LEXICAL, create=True)
    # The catalog last, and in one step: without it, there is no index.
    Catalog.create(folder / _NEW, embedder)
    share(folder, folder / _NEW)
    (folder / _NEW).replace(folder / CATALOG)


def replace_index(folder: Path, embedder: IndexEmbedder) -> None:
    """Replace the index of a folder, whatever its state, by an empty one with its questions."""
    with translated_errors(folder):
        private_files.create_folder(folder, lake_of(folder))
        with write_lock(folder):
            _replace(folder, embedder)


def repair_index(folder: Path, embedder: IndexEmbedder, damaged_id: str | None) -> bool:
    """Replace an index as `replace_index` does, unless it is another one than the damaged one."""
    with translated_errors(folder), write_lock(folder):
        if index_id(folder) not in (None, damaged_id):
            return False
        _replace(folder, embedder)
        return True


def index_id(folder: Path) -> str | None:
    """Return the random id that every new index gets; None if it cannot be read."""
    if not index_exists(folder):
        return None
    with suppress(sqlite3.Error), closing(Catalog.open_for_reading(folder / CATALOG)) as catalog:
        recorded: str | None = catalog.setting("index_id")
        return recorded
    return None


def index_exists(folder: Path) -> bool:
    with suppress(FileNotFoundError, NotADirectoryError):
        return (folder / CATALOG).stat().st_size > 0
    return False


def _replace(folder: Path, embedder: IndexEmbedder) -> None:
    questions = _readable_questions(folder)
    _delete_files(folder)
    create_index(folder, embedder)
    with closing(Catalog.open(folder / CATALOG)) as catalog, catalog.transaction():
        catalog.questions.put(questions)


def _readable_questions(folder: Path) -> Sequence[StoredQuestions]:
    with suppress(DamagedIndex), open_snapshot(folder) as snapshot:
        return snapshot.questions() if snapshot is not None else ()
    return ()


def _delete_files(folder: Path) -> None:
    # The catalog first: what a killed process leaves is no index then, and is deleted later.
    paths = sorted(folder.iterdir(), key=lambda path: path.name != CATALOG)
    for path in paths:
        if path.is_dir():
            delete_folder(path)
        elif not path.name.startswith(LOCK):
            path.unlink(missing_ok=True)
