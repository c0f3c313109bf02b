"""The index on disk: a folder that one process writes and others read."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turnetl.base import private_files
from turnetl.base.model import SessionId, TurnId
from turnetl.index import catalog_state
from turnetl.index.catalog import Catalog
from turnetl.index.catalog_state import other_version
from turnetl.index.conditions import Selection
from turnetl.index.creation import create_index, open_current, translated_or_busy
from turnetl.index.files import (
    CATALOG,
    IndexEmbedder,
    check_embedder,
    lake_of,
    no_step,
    translated_errors,
    write_lock,
)
from turnetl.index.follow import BatchWriter, Follower, batches_with_questions, forget
from turnetl.index.index_report import CatchUpReport, IndexedGroup, IndexStatus
from turnetl.index.lookup import Lookup
from turnetl.index.parts import IndexParts
from turnetl.index.port import (
    Condition,
    Field,
    FollowedGraph,
    IndexedFact,
    IndexedTurn,
    Keys,
    PassageTokens,
    ProgressCallback,
)
from turnetl.index.snapshot import index_status
from turnetl.llm.embedders import Embedder


class PersistentIndex:
    """An index of the turns of one graph, in a folder.

    Every method may raise `IndexUnusable` or `DamagedIndex`; a writer also `IndexBusy`.
    """

    def __init__(
        self,
        folder: Path,
        embedder: str,
        dimensions: int,
        before_step: Callable[[str], None] = no_step,
    ) -> None:
        """Open the index of the embedder with this name, or create an empty one.

        `before_step` is called before each step of a writer; a test stops it there.

        Raises:
            IndexBusy: another process locks it.
            IndexUnusable: it is of another version or embedder, or the folder cannot be written.
        """
        self._folder = folder
        self._index_embedder = IndexEmbedder(embedder, dimensions)
        self._before_step = before_step
        self._is_writing = False
        with translated_errors(folder):
            private_files.create_folder(folder, lake_of(folder))
            self._parts = open_current(
                folder, self._index_embedder, self._open, read_only=self.is_read_only
            )

    @property
    def is_read_only(self) -> bool:
        """Whether the folder may not be written: nothing can be read from the graph then."""
        return not os.access(self._folder, os.W_OK)

    @property
    def is_replaced(self) -> bool:
        """Whether another process rebuilt the index since it was opened."""
        return self._parts.is_replaced

    @property
    def graph_state(self) -> str | None:
        """The state of an embedded graph's file at the last catch-up, as `mark` recorded it."""
        with self._errors():
            state: str | None = self._parts.catalog.setting("graph_state")
            return state

    def mark(self, graph_state: str | None) -> None:
        """Record the state of the graph's file: if it is the same, there is nothing to read."""
        with self._errors(), self._parts.catalog.transaction():
            self._parts.catalog.record("graph_state", graph_state)

    @property
    def content_state(self) -> str | None:
        """The state of the graph's content at the last look for session-level episodes."""
        with self._errors():
            state: str | None = self._parts.catalog.setting("content_state")
            return state

    def mark_content(self, state: str) -> None:
        with self._errors(), self._parts.catalog.transaction():
            self._parts.catalog.record("content_state", state)

    @property
    def caught_up_at(self) -> datetime | None:
        """When the index last held everything in the graph; None if it never did."""
        with self._errors():
            return self._parts.catalog.caught_up_at()

    def groups(self) -> Sequence[IndexedGroup]:
        with self._errors():
            return self._parts.catalog.groups()

    def status(self) -> IndexStatus:
        with self._errors():
            return index_status(self._folder, self._parts.catalog)

    async def catch_up(
        self,
        graph: FollowedGraph,
        embedder: Embedder,
        *,
        now: datetime,
        on_progress: ProgressCallback | None = None,
    ) -> CatchUpReport:
        """Read what changed in the graph since the last call. May be stopped at any point."""
        with self.writing() as parts:
            parts.remove_words()
            report = await Follower(parts, graph, embedder).catch_up(on_progress or _no_progress)
            with parts.catalog.transaction():
                parts.catalog.record("caught_up_at", now.isoformat())
            return report

    def turns_without_questions(self) -> Keys:
        """Return the turns to which `add_questions` never added anything."""
        with self._reading() as parts:
            return parts.catalog.questions.missing()

    async def add_questions(
        self, questions: Mapping[int, Sequence[str]], embedder: Embedder
    ) -> None:
        """Index questions, by the turn's key, as further passages of the turns they answer.

        An unknown key is ignored. The turns get new keys. The questions stay until a turn has
        another text or leaves the index.
        """
        with self.writing() as parts:
            writer = BatchWriter(parts, embedder)
            for batch in batches_with_questions(parts.catalog, questions):
                await writer.write(batch)

    def forget(self, turns: Collection[TurnId]) -> int:
        """Remove turns and what only they state; return how many there were."""
        with self.writing() as parts:
            return forget(parts, turns)

    def select(self, selection: Selection) -> Keys:
        with self._reading() as parts:
            return parts.select(selection)

    def newest(self, selection: Selection, *, limit: int, skip: int = 0) -> Sequence[int]:
        """Return the newest turns that meet all conditions, newest first, after `skip` others."""
        with self._reading() as parts:
            return parts.catalog.selector.newest(selection, limit, skip)

    def selected_facts(self, selection: Selection, keys: Collection[int]) -> Collection[str]:
        """Return the uuids of those facts of the turns that meet the conditions on facts."""
        with self._reading() as parts:
            return parts.catalog.selector.selected_facts(selection, keys)

    def values(self, condition: Condition) -> Sequence[str]:
        """Return all values for which a turn meets the condition, sorted."""
        with self._reading() as parts:
            return parts.catalog.selector.values(condition)

    def term_shares(
        self, field: Field, terms: Mapping[str, float], keys: Keys | None, *, limit: int
    ) -> Mapping[int, float]:
        """Return the turns of `keys` (None: any) that contain most of the weighted terms.

        Each has a share from 0 to 1: its BM25 score, divided by a score that no text can exceed.
        """
        with self._reading() as parts:
            return parts.lexical.term_shares(field, terms, limit, parts.is_held, keys)

    def similarities(
        self, vector: NDArray[np.float32], keys: Keys | None, *, limit: int
    ) -> Mapping[int, float]:
        """Return the turns of `keys` (None: any) whose passages are most similar to a vector.

        The vector has unit length. Each turn has its best weighted cosine.
        """
        with self._reading() as parts:
            own = self._index_embedder
            check_embedder(own, IndexEmbedder(own.name, len(vector)))
            return parts.vectors.best_per_turn(vector, keys, limit)

    def passage_tokens(self, keys: Keys) -> PassageTokens:
        """Return how many turns contain each token, and the total number of turns."""
        with self._reading() as parts:
            return parts.vectors.tokens_of(keys)

    def token_frequencies(self, tokens: Sequence[int]) -> tuple[NDArray[np.int64], int]:
        with self._reading() as parts:
            counts = parts.catalog.token_counts()
            return counts[np.asarray(tokens, dtype=np.int64)], parts.catalog.turn_count()

    def term_frequencies(self, terms: Collection[str]) -> tuple[Mapping[str, int], int]:
        """Return how many turns contain each term in their texts, and the total number of turns.

        Turns that were removed a short time ago may be counted.
        """
        with self._reading() as parts:
            return parts.lexical.term_frequencies(terms), parts.catalog.turn_count()

    def turns(self, keys: Collection[int]) -> Mapping[int, IndexedTurn]:
        """Return the turns with these keys; an unknown key is left out."""
        with self._reading() as parts:
            return parts.catalog.turns(keys)

    def texts(self, keys: Collection[int]) -> Mapping[int, str]:
        """Return the episode texts of these turns; an unknown key is left out."""
        with self._reading() as parts:
            return parts.catalog.texts(keys)

    def next_turns(self, keys: Collection[int], selected: Keys | None) -> Collection[int]:
        """Return the turns that follow these in their sessions, of the selected ones."""
        with self._reading() as parts:
            return parts.catalog.next_turns(keys, selected)

    def facts(self, keys: Collection[int]) -> Mapping[int, Sequence[IndexedFact]]:
        """Return the facts of each turn, oldest first."""
        with self._reading() as parts:
            return parts.catalog.facts(keys)

    def session_ids(self) -> Sequence[SessionId]:
        with self._reading() as parts:
            return parts.catalog.session_ids()

    def turns_at(self, archive: str, line: int) -> Sequence[int]:
        """See `TurnsByLine.find`."""
        with self._reading() as parts:
            return parts.turns_by_line.find(parts.catalog.connection, archive, line)

    def read_ahead(self, limit: int) -> bool:
        """See `TurnsByLine.read_ahead`."""
        with self._reading() as parts:
            return parts.turns_by_line.read_ahead(parts.catalog.connection, limit)

    def lookup(self) -> Lookup:
        with self._reading() as parts:
            return parts.catalog.lookup()

    def close(self) -> None:
        self._parts.close()

    def _open(self) -> IndexParts:
        path, read_only = self._folder / CATALOG, self.is_read_only
        catalog = Catalog.open_for_reading(path) if read_only else Catalog.open(path)
        try:
            self._check(catalog)
            size, step = self._index_embedder.dimensions, self._before_step
            return IndexParts(self._folder, catalog, size, step, read_only=read_only)
        except BaseException:
            catalog.close()
            raise

    def _check(self, catalog: Catalog) -> None:
        if catalog.version != catalog_state.VERSION:
            raise other_version(self._folder, catalog.version)
        check_embedder(catalog.embedder(), self._index_embedder)

    def _errors(self) -> AbstractContextManager[None]:
        return translated_or_busy(self._folder, lambda: self._parts.is_replaced)

    @contextmanager
    def _reading(self) -> Iterator[IndexParts]:
        with self._errors():
            self._parts.reload()
            yield self._parts

    @contextmanager
    def writing(self) -> Iterator[IndexParts]:
        """Exclude other writers; return the files with all that was committed. May be nested."""
        if self._is_writing:
            yield self._parts
            return
        with translated_errors(self._folder), write_lock(self._folder):
            if self._parts.is_replaced:
                self._parts.close()
                create_index(self._folder, self._index_embedder)
                self._parts = self._open()
            self._parts.reload()
            self._is_writing = True
            try:
                yield self._parts
            finally:
                self._is_writing = False


def _no_progress(_done: int, _total: int) -> None:
    """Ignore the progress."""
