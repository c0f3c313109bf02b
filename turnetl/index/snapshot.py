"""An index opened for reading only, without its embedder; `status` uses it.

It has the methods with which groups are planned, so that it can stand in for a graph that another
process writes at the moment.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from turnetl.base.graph_model import GroupVersion, Receipt
from turnetl.base.ids import RecipeParts
from turnetl.base.model import GroupId, TurnId
from turnetl.base.private_files import open_regular
from turnetl.index import catalog_state
from turnetl.index.catalog import Catalog, StoredQuestions
from turnetl.index.catalog_state import BUSY_TIMEOUT
from turnetl.index.files import CATALOG, VECTORS, IndexEmbedder, folder_size, translated_errors
from turnetl.index.index_report import IndexStatus, unread_commits
from turnetl.index.search_vectors import SearchEmbedding, search_embedding, waiting_turns
from turnetl.index.vectors import count_held


class IndexSnapshot:
    """The catalog of an index, open for reading."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog

    def status(self) -> IndexStatus:
        with translated_errors(self._folder):
            return index_status(self._folder, self._catalog)

    def embedder(self) -> IndexEmbedder:
        with translated_errors(self._folder):
            return self._catalog.embedder()

    def search_embedding(self) -> SearchEmbedding | None:
        with translated_errors(self._folder):
            return search_embedding(self._catalog)

    def questions(self) -> Sequence[StoredQuestions]:
        with translated_errors(self._folder):
            return self._catalog.questions.all()

    def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        with translated_errors(self._folder):
            return frozenset(self._catalog.turn_ids(group))

    async def groups(self) -> Sequence[GroupId]:
        with translated_errors(self._folder):
            return [group.group_id for group in self._catalog.groups() if group.turns]

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        with translated_errors(self._folder):
            return self._catalog.receipts(group)

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        with translated_errors(self._folder):
            return self._catalog.counts(group)

    async def recipes(self, digests: Collection[str]) -> Mapping[str, RecipeParts]:  # noqa: ARG002
        """Return nothing: the index does not hold the parts of recipes."""
        return {}


@contextmanager
def open_snapshot(
    folder: Path, *, busy_timeout: float = BUSY_TIMEOUT
) -> Iterator[IndexSnapshot | None]:
    """Open the index of a folder for reading; None if there is none, or of another version."""
    path = folder / CATALOG
    if not path.exists():
        yield None
        return
    with translated_errors(folder):
        catalog = Catalog.open_for_reading(path, busy_timeout=busy_timeout)
    with closing(catalog):
        with translated_errors(folder):
            is_known = catalog.version == catalog_state.VERSION
        yield IndexSnapshot(folder, catalog) if is_known else None


def index_status(folder: Path, catalog: Catalog) -> IndexStatus:
    embedding = search_embedding(catalog)
    return IndexStatus(
        path=folder,
        groups=tuple(catalog.groups()),
        passages=_held_passages(folder, catalog),
        turns_with_questions=catalog.questions.count(),
        bytes=folder_size(folder),
        embedder=catalog.setting("embedder") or "",
        search_embedder=embedding.embedder if embedding else None,
        turns_to_embed=len(waiting_turns(catalog, embedding)) if embedding else 0,
        caught_up_at=catalog.caught_up_at(),
    )


def _held_passages(folder: Path, catalog: Catalog) -> int:
    """Return the number of passages without those of removed turns."""
    rows, removed = catalog.valid_rows().rows, catalog.removed_turns()
    if not len(removed):
        return rows
    try:
        with open_regular(folder / VECTORS / "keys") as file:
            keys = np.frombuffer(file.read(rows * 8), dtype=np.int64)
    except FileNotFoundError:  # another process replaces the index
        return rows
    return count_held(keys, removed)


def turns_behind(status: IndexStatus, versions: Mapping[GroupId, GroupVersion]) -> int:
    """Return how many commits of a graph an index has not read.

    If it has read all commits of a group, the turns count that were undone since.
    """
    held = {group.group_id: group.turns for group in status.groups}
    unread = unread_commits(status.groups, versions)
    return sum(
        len(numbers) or abs(held.get(group, 0) - versions[group].turns)
        for group, numbers in unread.items()
    )
