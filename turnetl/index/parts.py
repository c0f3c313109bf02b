"""The open files of an index: catalog, words and vectors; which turn is at an archive's line."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.index.catalog import Catalog
from turnetl.index.conditions import Selection
from turnetl.index.files import CATALOG, LEXICAL, VECTORS, check_regular, identity, share
from turnetl.index.lexical import LexicalIndex, LinkedWords
from turnetl.index.port import Keys, unpack
from turnetl.index.search_vectors import SearchVectors, search_embedding
from turnetl.index.vectors import PassageVectors

_KEPT_SELECTIONS = 8


class IndexParts:
    def __init__(
        self,
        folder: Path,
        catalog: Catalog,
        dimensions: int,
        before_step: Callable[[str], None],
        *,
        read_only: bool = False,
    ) -> None:
        """Open the words and vectors that belong to a catalog."""
        check_regular(folder)
        self.before_step = before_step
        self.catalog = catalog
        self.embedder = catalog.embedder()
        self.turns_by_line = TurnsByLine()
        self._selected: dict[Selection, Keys] = {}
        self._file = identity(folder / CATALOG)
        self._path = folder / CATALOG
        self.search: SearchVectors | None = None
        """Of the embedder that the user chose for the search; None: no turn is embedded."""
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
            try:
                self._reload_search()
            except BaseException:
                self.vectors.close()
                raise
        except BaseException:
            if self._links:
                self._links.close()
            raise

    @property
    def is_replaced(self) -> bool:
        return identity(self._path) != self._file

    def reload(self) -> None:
        """Read what was committed since the last call, also by another process."""
        generation = self.catalog.generation()
        if generation != self._generation:
            self.vectors.reload(self.catalog.valid_rows(), self.catalog.removed_turns())
            self._reload_search()
            if self._links:
                self._links.refresh()
            self.lexical.reload()
            self._selected.clear()
            self._generation = generation

    def _reload_search(self) -> None:
        if self.search is not None:
            self.search.vectors.close()
        embedding = search_embedding(self.catalog)
        self.search = (
            SearchVectors(self._path.parent, self.catalog, embedding)
            if embedding is not None and embedding.valid.rows
            else None
        )

    def select(self, selection: Selection) -> Keys:
        """Return the turns that meet all conditions: a server asks for the same ones again."""
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
        share(self._path.parent, self._path)

    def is_held(self, keys: Keys) -> NDArray[np.bool_]:
        return (keys <= self.catalog.last_key()) & ~np.isin(keys, self.catalog.removed_with_words())

    def close(self) -> None:
        self.vectors.close()
        if self.search is not None:
            self.search.vectors.close()
        self.catalog.close()
        if self._links:
            self._links.close()


class _TurnLines(msgspec.Struct):
    archive: str
    first_line: int
    last_line: int


_LINES = msgspec.json.Decoder(_TurnLines)
_AT_ONCE = 10_000
"""Turns whose receipts are in memory at a time."""


class TurnsByLine:
    """The archive lines of the turns of a catalog. Later turns are added at each question."""

    def __init__(self) -> None:
        self._last_key = 0
        self._by_archive: dict[str, list[tuple[int, int, int]]] = {}

    def find(self, connection: sqlite3.Connection, archive: str, line: int) -> list[int]:
        """Return the keys of the turns that have a line, from 1; one may have been removed since.

        The archive is a path as receipts have it, or the end of one; also of a history of prompts.
        """
        while self.read_ahead(connection, _AT_ONCE):
            pass
        return [
            key
            for turns in self._of(archive)
            for first, last, key in turns
            if first <= line <= last
        ]

    def read_ahead(self, connection: sqlite3.Connection, limit: int) -> bool:
        """Read where some turns are, for the next question; return whether there may be more."""
        rows = connection.execute(
            "SELECT key, receipt FROM turns WHERE key > ? ORDER BY key LIMIT ?",
            (self._last_key, limit),
        ).fetchall()
        for key, receipt in rows:
            lines = unpack(receipt, _LINES)
            turns = self._by_archive.setdefault(lines.archive, [])
            turns.append((lines.first_line, lines.last_line, key))
            self._last_key = key
        return len(rows) == limit

    def _of(self, archive: str) -> Iterator[list[tuple[int, int, int]]]:
        if archive in self._by_archive:
            yield self._by_archive[archive]
            return
        is_history = "history" in archive
        for path, turns in self._by_archive.items():
            if path.endswith(f"/{archive}") or (is_history and _is_in_file(path, archive)):
                yield turns


def _is_in_file(path: str, name: str) -> bool:
    """Return whether an archive is a project of the history of prompts with this name."""
    from turnetl.lake.paths import file_holding  # noqa: PLC0415 - imports polars

    file = str(file_holding(Path(path)))
    return file != path and (file == name or file.endswith(f"/{name}"))
