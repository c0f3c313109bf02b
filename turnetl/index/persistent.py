"""The index on disk: a folder that one process writes and others read."""

import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turnetl.errors import IndexBusy, IndexUnusable
from turnetl.index import catalog_sql
from turnetl.index.batch_writer import BatchWriter, batches_with_questions
from turnetl.index.catalog import Catalog
from turnetl.index.files import CATALOG, LEXICAL, LOCK, VECTORS, translated_errors
from turnetl.index.follow import Follower
from turnetl.index.lexical import LexicalIndex
from turnetl.index.lookup import Lookup
from turnetl.index.port import (
    CatchUpReport,
    Condition,
    Field,
    FollowedGraph,
    IndexedFact,
    IndexedGroup,
    IndexedTurn,
    IndexStatus,
    Keys,
    PassageTokens,
    ProgressCallback,
)
from turnetl.index.question_table import StoredQuestions
from turnetl.index.selection import Selection
from turnetl.index.snapshot import index_status
from turnetl.index.vectors import PassageVectors, RowCounts
from turnetl.llm.embedders.port import Embedder
from turnetl.model import TurnId


class PersistentIndex:
    """`SearchIndex` in a folder."""

    def __init__(self, folder: Path, embedder: str, dimensions: int) -> None:
        """Open the index, or create an empty one.

        Args:
            folder: of the index; created if it does not exist.
            embedder: name of the embedder of its passages.
            dimensions: of that embedder's vectors.

        Raises:
            DamagedIndex: a file is damaged or missing.
            IndexUnusable: it is of another version or another embedder, or the folder cannot be
                written.
        """
        self._folder = folder
        with translated_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._catalog = Catalog.open(folder / CATALOG)
            self._check(embedder, dimensions)
            self._lexical = LexicalIndex(folder / LEXICAL)
            self._vectors = PassageVectors(folder / VECTORS, dimensions, self._counts())

    @property
    def graph_state(self) -> str | None:
        """The state of an embedded graph's file at the last catch-up, as `mark` recorded it."""
        state: str | None = self._catalog.setting("graph_state")
        return state

    def mark(self, graph_state: str | None) -> None:
        """Record the state of the graph's file: if it is the same, there is nothing to read."""
        with translated_errors(self._folder), self._catalog.transaction():
            self._catalog.record("graph_state", graph_state)

    @property
    def caught_up_at(self) -> datetime | None:
        """When the index last held everything in the graph; None if it never did."""
        return self._catalog.caught_up_at()

    def groups(self) -> Sequence[IndexedGroup]:
        """Return the groups, sorted."""
        return self._catalog.groups()

    def status(self) -> IndexStatus:
        return index_status(self._folder, self._catalog)

    async def catch_up(
        self,
        graph: FollowedGraph,
        embedder: Embedder,
        *,
        now: datetime,
        on_progress: ProgressCallback | None = None,
    ) -> CatchUpReport:
        with translated_errors(self._folder), self._locked():
            follower = Follower(self._catalog, self._lexical, self._vectors, graph, embedder)
            report = await follower.catch_up(on_progress or _no_progress)
            with self._catalog.transaction():
                self._catalog.record("caught_up_at", now.isoformat())
            return report

    def turns_without_questions(self) -> Keys:
        return self._catalog.questions.missing()

    async def add_questions(
        self, questions: Mapping[int, Sequence[str]], embedder: Embedder
    ) -> None:
        with translated_errors(self._folder), self._locked():
            writer = BatchWriter(self._catalog, self._lexical, self._vectors, embedder)
            for batch in batches_with_questions(self._catalog, questions):
                await writer.write(batch)

    def stored_questions(self) -> Sequence[StoredQuestions]:
        """Return the questions of all turns."""
        return self._catalog.questions.all()

    def keep_questions(self, stored: Sequence[StoredQuestions]) -> None:
        """Store questions of turns that will be indexed later."""
        with translated_errors(self._folder), self._locked(), self._catalog.transaction():
            self._catalog.questions.put(stored)

    def forget(self, turns: Collection[TurnId]) -> int:
        with translated_errors(self._folder), self._locked():
            keys = list(self._catalog.turn_keys(turns).values())
            entities, facts = self._catalog.touched(keys)
            with self._catalog.transaction():
                self._catalog.remove_turns(keys)
                self._catalog.prune(entities, facts)
            self._lexical.write([], keys)
            self._vectors.remove(np.array(keys, dtype=np.int64))
            return len(keys)

    def select(self, selection: Selection) -> Keys:
        return self._catalog.selector.select(selection)

    def newest(self, selection: Selection, *, limit: int) -> Sequence[int]:
        return self._catalog.selector.newest(selection, limit)

    def selected_facts(self, selection: Selection, keys: Collection[int]) -> Collection[str]:
        return self._catalog.selector.selected_facts(selection, keys)

    def values(self, condition: Condition) -> Sequence[str]:
        return self._catalog.selector.values(condition)

    def term_shares(
        self, field: Field, terms: Mapping[str, float], keys: Keys | None, *, limit: int
    ) -> Mapping[int, float]:
        return self._lexical.term_shares(field, terms, keys, limit)

    def similarities(
        self, vector: NDArray[np.float32], keys: Keys | None, *, limit: int
    ) -> Mapping[int, float]:
        return self._vectors.best_per_turn(vector, keys, limit)

    def passage_tokens(self, keys: Keys) -> PassageTokens:
        return self._vectors.tokens_of(keys)

    def token_frequencies(self, tokens: Sequence[int]) -> tuple[NDArray[np.int64], int]:
        counts = self._catalog.token_counts()
        turns = sum(group.turns for group in self._catalog.groups())
        return counts[np.asarray(tokens, dtype=np.int64)].astype(np.int64), turns

    def turns(self, keys: Collection[int]) -> Mapping[int, IndexedTurn]:
        return self._catalog.turns(keys)

    def next_turns(self, keys: Collection[int], selected: Keys | None) -> Collection[int]:
        found = self._catalog.next_turns(keys)
        return found if selected is None else found & set(selected.tolist())

    def facts(self, keys: Collection[int]) -> Mapping[int, Sequence[IndexedFact]]:
        return self._catalog.facts(keys)

    def lookup(self) -> Lookup:
        return self._catalog.lookup()

    def close(self) -> None:
        self._catalog.close()

    def _check(self, embedder: str, dimensions: int) -> None:
        made_with = (self._catalog.setting("embedder"), self._catalog.setting("dimensions"))
        if self._catalog.version != catalog_sql.VERSION:
            raise IndexUnusable(
                f"the search index `{self._folder}` has version {self._catalog.version}, and this "
                f"turnetl supports version {catalog_sql.VERSION}: run `turnetl index --rebuild`"
            )
        if made_with == (None, None):
            with self._catalog.transaction():
                self._catalog.record("embedder", embedder)
                self._catalog.record("dimensions", dimensions)
        elif made_with != (embedder, dimensions):
            raise IndexUnusable(
                f"the search index was made with the embedder `{made_with[0]}` of {made_with[1]} "
                f"dimensions, and `{embedder}` of {dimensions} is configured: run "
                "`turnetl index --rebuild`, or restore the setting"
            )

    def _counts(self) -> RowCounts:
        return RowCounts(self._catalog.setting("rows") or 0, self._catalog.setting("tokens") or 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Exclude other writers, also if one is killed: SQLite's lock ends with its process."""
        lock = sqlite3.connect(self._folder / LOCK, timeout=0, isolation_level=None)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            lock.close()
            raise IndexBusy("another process updates the search index at the moment") from error
        try:
            # Another process may have written since this one opened the files.
            if self._counts() != self._vectors.counts:
                self._vectors.reload(self._counts())
            yield
        finally:
            lock.close()


def delete_index(folder: Path) -> None:
    """Delete the index of a folder, as far as it exists.

    Raises:
        IndexUnusable: a file cannot be deleted.
    """
    with translated_errors(folder), suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _no_progress(_done: int, _total: int) -> None:
    """Ignore the progress."""
