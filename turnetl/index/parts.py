"""The open files of an index: catalog, words and vectors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turnetl.index.catalog import Catalog
from turnetl.index.files import CATALOG, LEXICAL, VECTORS, check_regular, identity, share
from turnetl.index.lexical import LexicalIndex
from turnetl.index.linked_words import LinkedWords
from turnetl.index.port import Keys
from turnetl.index.selection import Selection
from turnetl.index.turns_by_line import TurnsByLine
from turnetl.index.vectors import PassageVectors

_KEPT_SELECTIONS = 8


class IndexParts:
    """Catalog, words and vectors of a folder. Their exceptions pass through."""

    def __init__(
        self,
        folder: Path,
        catalog: Catalog,
        dimensions: int,
        before_step: Callable[[str], None],
        *,
        read_only: bool = False,
    ) -> None:
        """Open the words and vectors that belong to a catalog.

        Args:
            folder: of the index.
            catalog: open.
            dimensions: of the vectors.
            before_step: called before each step of a writer; a test stops it there.
            read_only: the folder may not be written.
        """
        check_regular(folder)
        self.before_step = before_step
        self.catalog = catalog
        self.embedder = catalog.embedder()
        self.turns_by_line = TurnsByLine()
        self._selected: dict[Selection, Keys] = {}
        self._file = identity(folder / CATALOG)
        self._path = folder / CATALOG
        self._links = LinkedWords(folder / LEXICAL) if read_only else None
        try:
            self.lexical = LexicalIndex(
                self._links.folder if self._links else folder / LEXICAL,
                create=False,
                before_step=before_step,
            )
            self._generation = catalog.generation()
            self.vectors = PassageVectors(
                folder / VECTORS,
                dimensions,
                catalog.valid_rows(),
                catalog.removed_turns(),
                before_step,
            )
        except BaseException:
            if self._links:
                self._links.close()
            raise

    @property
    def is_replaced(self) -> bool:
        """Whether another process rebuilt the index since these files were opened."""
        return identity(self._path) != self._file

    def reload(self) -> None:
        """Read what was committed since the last call, also by another process."""
        generation = self.catalog.generation()
        if generation != self._generation:
            self.vectors.reload(self.catalog.valid_rows(), self.catalog.removed_turns())
            if self._links:
                self._links.refresh()
            self.lexical.reload()
            self._selected.clear()
            self._generation = generation

    def select(self, selection: Selection) -> Keys:
        """Return the turns that meet all conditions; kept until the next change of the catalog.

        A process that answers many requests asks for the same ones again, such as all failures.
        """
        if selection not in self._selected:
            if len(self._selected) == _KEPT_SELECTIONS:
                self._selected.clear()
            self._selected[selection] = self.catalog.selector.select(selection)
        return self._selected[selection]

    def remove_words(self) -> None:
        """Remove the words of turns that were removed, and what a killed writer left."""
        removed, last_key = self.catalog.removed_with_words(), self.catalog.last_key()
        if self.lexical.has_later_than(last_key):
            self.lexical.add([], last_key)
            self.share()
        if len(removed):
            self.lexical.remove(removed.tolist())
            self.share()
            self.before_step("removed words")
            with self.catalog.transaction():
                self.catalog.set_words_removed(removed)

    def share(self) -> None:
        """Let those who may read the catalog read the words and vectors that were just written."""
        share(self._path.parent, self._path)

    def is_held(self, keys: Keys) -> NDArray[np.bool_]:
        """Return which of these turns the catalog holds."""
        return (keys <= self.catalog.last_key()) & ~np.isin(keys, self.catalog.removed_with_words())

    def close(self) -> None:
        self.vectors.close()
        self.catalog.close()
        if self._links:
            self._links.close()
