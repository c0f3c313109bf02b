"""What a process does whose open index another process replaces by a new one meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from turnetl.base.errors import IndexBusy, IndexUnusable
from turnetl.index.creation import ensure_index
from turnetl.index.files import CATALOG, identity, translated_errors
from turnetl.index.location import IndexEmbedder
from turnetl.index.parts import IndexParts


def open_current(
    folder: Path, embedder: IndexEmbedder, open_parts: Callable[[], IndexParts], *, read_only: bool
) -> IndexParts:
    """Open an index, or create it; open it again if another process replaced it meanwhile.

    Args:
        folder: of the index.
        embedder: of a new index.
        open_parts: opens what is in the folder.
        read_only: nothing is created.

    Raises:
        IndexBusy: another process has locked the folder, and there is still no index.
        Exception: what `open_parts` raises about an index that is not replaced.
    """
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
    """As `translated_errors`, but a failure with an index that was replaced is one to repeat.

    Raises:
        IndexBusy: another process replaced the index.
    """
    try:
        with translated_errors(folder):
            yield
    except IndexUnusable as error:
        if not is_replaced():
            raise
        message = f"another turnetl process replaced the search index `{folder}`"
        raise IndexBusy(message) from error
