"""The index on disk: a folder that one process creates, replaces or writes, and others read."""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.base import private_files
from turnetl.base.errors import BadUsage, IndexBusy, IndexUnusable
from turnetl.base.model import SessionId, TurnId
from turnetl.index.catalog import Catalog, StoredQuestions
from turnetl.index.conditions import Selection
from turnetl.index.files import (
    CATALOG,
    LEXICAL,
    LOCK,
    SEARCH_VECTORS,
    DamagedIndex,
    IndexEmbedder,
    check_embedder,
    delete_folder,
    identity,
    lake_of,
    no_step,
    share,
    translated_errors,
    write_lock,
)
from turnetl.index.follow import (
    BatchWriter,
    Follower,
    batches_with_questions,
    forget,
    rewrite_words,
)
from turnetl.index.index_report import CatchUpReport, IndexedGroup, IndexStatus
from turnetl.index.lexical import LexicalIndex
from turnetl.index.lookup import Lookup
from turnetl.index.parts import IndexParts
from turnetl.index.port import (
    NO_ALTERNATIVES,
    Alternatives,
    Condition,
    Field,
    FollowedGraph,
    IndexedFact,
    IndexedTurn,
    Keys,
    PassageTokens,
    ProgressCallback,
)
from turnetl.index.search_vectors import (
    SearchEmbedding,
    add_batch,
    record_search_embedding,
    search_embedding,
    waiting_batch,
    waiting_turns,
)
from turnetl.index.snapshot import index_status, open_snapshot
from turnetl.llm.embedders import Embedder

GraphState = Literal["graph_state", "content_state"]
"""Of an embedded graph's file at the last catch-up; of the graph's content at the last look for
session-level episodes."""


_WORTHWHILE_TURNS = 200
"""Among fewer turns a search that finds nothing seldom lacks a better embedder."""

log = logging.getLogger(__name__)


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
        open_embedder: Callable[[str], Embedder] | None = None,
    ) -> None:
        """Open the index of the embedder with this name, or create an empty one.

        Args:
            before_step: called before each step of a writer; a test stops it there.
            open_embedder: opens the embedder that was chosen for the search; None: it is not used.

        Raises:
            IndexBusy: another process locks it.
            IndexUnusable: it is of another version or embedder, or the folder cannot be written.
        """
        self._folder = folder
        self._index_embedder = IndexEmbedder(embedder, dimensions)
        self._before_step = before_step
        self._is_writing = False
        self._open_embedder = open_embedder
        self._opened: dict[str, Embedder | None] = {}
        """The embedders that were chosen for the search, by name; None: it cannot be opened."""
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

    def recorded(self, state: GraphState) -> str | None:
        """Return what was recorded last: if it is the same, there is nothing to read."""
        with self._errors():
            recorded: str | None = self._parts.catalog.setting(state)
            return recorded

    def record(self, state: GraphState, value: str | None) -> None:
        with self._errors(), self._parts.catalog.transaction():
            self._parts.catalog.record(state, value)

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
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> CatchUpReport:
        """Read what changed in the graph since the last call. May be stopped at any point."""
        with self.writing() as parts:
            parts.remove_words()
            report = await Follower(parts, graph, embedder).catch_up(on_progress)
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

    def newest_sessions(self, selection: Selection, limit: int) -> tuple[Sequence[SessionId], int]:
        """Return the sessions of the newest turns that meet all conditions, and their number."""
        with self._reading() as parts:
            return parts.catalog.selector.newest_sessions(selection, limit)

    def selected_facts(self, selection: Selection, keys: Collection[int]) -> Collection[str]:
        """Return the uuids of those facts of the turns that meet the conditions on facts."""
        with self._reading() as parts:
            return parts.catalog.selector.selected_facts(selection, keys)

    def values(self, condition: Condition) -> Sequence[str]:
        """Return all values for which a turn meets the condition, sorted."""
        with self._reading() as parts:
            return parts.catalog.selector.values(condition)

    def term_shares(
        self,
        field: Field,
        terms: Mapping[str, float],
        keys: Keys | None,
        *,
        limit: int,
        alternatives: Alternatives = NO_ALTERNATIVES,
    ) -> Mapping[int, float]:
        """Return the turns of `keys` (None: any) that contain most of the weighted terms.

        Each has a share from 0 to 1: its BM25 score, divided by a score that no text can exceed.
        What stands for a term counts less than the term.
        """
        with self._reading() as parts:
            return parts.lexical.term_shares(
                field, terms, limit, parts.is_held, keys, alternatives=alternatives
            )

    def session_term_shares(
        self, terms: Mapping[str, float], keys: Keys, alternatives: Alternatives = NO_ALTERNATIVES
    ) -> Mapping[int, float]:
        """Return for each of these turns what its session contains of the weighted terms.

        That is a share from 0 to 1, in which rare terms count most; any text of the session counts.
        """
        with self._reading() as parts:
            members, sessions = parts.catalog.session_turns(keys.tolist())
            shares = parts.lexical.session_term_shares(terms, members, sessions, alternatives)
            own = members[places := np.flatnonzero(np.isin(members, keys))]
            return dict(zip(own.tolist(), shares[sessions[places]].tolist(), strict=True))

    @property
    def search_embedder(self) -> Embedder | None:
        """The embedder that was chosen for the search, if it embedded a turn and can be opened."""
        with self._reading() as parts:
            embedding = parts.search.embedding if parts.search is not None else None
        return self._embedder_of(embedding) if embedding is not None else None

    def _embedder_of(self, embedding: SearchEmbedding) -> Embedder | None:
        """Open the embedder once; log why it cannot be opened."""
        if self._open_embedder is not None and embedding.embedder not in self._opened:
            opened, problem = None, None
            try:
                opened = self._open_embedder(embedding.choice)
            except BadUsage as error:
                problem = str(error)
            if opened is not None and opened.name != embedding.embedder:
                problem = f"`{embedding.choice}` is another model now: run `turnetl index"
                problem += f" --embedder {embedding.choice}`"
                opened = None
            if problem is not None:
                built_in = self._index_embedder.name
                log.warning("%s; until then, `%s` compares all turns", problem, built_in)
            self._opened[embedding.embedder] = opened
        return self._opened.get(embedding.embedder)

    def choose_embedder(self, chosen: SearchEmbedding | None) -> None:
        """Let this embedder embed the turns for the search; None: only that of the index does.

        What another one embedded is deleted; what this one did stays.
        """
        with self.writing() as parts:
            before = search_embedding(parts.catalog)
            if before is not None and before.is_of(chosen):
                chosen = msgspec.structs.replace(before, choice=chosen.choice if chosen else "")
            with parts.catalog.transaction():
                record_search_embedding(parts.catalog, chosen)
            parts.reload()
            for path in (self._folder / SEARCH_VECTORS).glob("*"):
                # Windows does not delete what another process reads.
                with suppress(OSError):
                    if chosen is None or path.name != chosen.folder_name:
                        delete_folder(path)

    def names_embedder(self, occasion: Literal["backfill", "weak_search"]) -> bool:
        """Return whether a better embedder is to be named now: once, and if none is chosen."""
        name = f"named_embedder_after_{occasion}"
        with self._reading() as parts:
            has_few = parts.catalog.turn_count() < _WORTHWHILE_TURNS
            if has_few or search_embedding(parts.catalog) or parts.catalog.setting(name):
                return False
            if not self.is_read_only:
                with parts.catalog.transaction():
                    parts.catalog.record(name, True)
            return True

    def waiting_share(self) -> float:
        """Return the share of the turns that wait for the chosen embedder; 0 without one."""
        with self._reading() as parts:
            embedding = search_embedding(parts.catalog)
            if embedding is None:
                return 0.0
            waiting = len(waiting_turns(parts.catalog, embedding))
            return waiting / max(parts.catalog.turn_count(), 1)

    def to_embed(self) -> tuple[int, int]:
        """Return how many turns, and passages of them, wait for the chosen embedder."""
        with self._reading() as parts:
            embedding = search_embedding(parts.catalog)
            keys = waiting_turns(parts.catalog, embedding) if embedding is not None else ()
            return len(keys), int(np.isin(parts.vectors.keys(), keys).sum())

    async def embed_next(self, *, probe: int = 0) -> int | None:
        """Let the chosen embedder embed the next turns; return how many passages; None: none waits.

        Other writers are excluded while the vectors are written, not while they are made.

        Args:
            probe: embed at most this many passages and write nothing, to measure the time.
        """
        with self._reading() as parts:
            batch = waiting_batch(parts.catalog)
        embedder = self._embedder_of(batch.embedding) if batch is not None else None
        if batch is None or embedder is None:
            return None
        if probe:
            return len(await embedder.embed(batch.texts[:probe]))
        vectors = await embedder.embed(batch.texts)
        with self.writing() as parts:
            add_batch(self._folder, parts.catalog, batch, vectors)
            parts.share()
            parts.reload()
        return len(vectors)

    def similarities(
        self,
        vector: NDArray[np.float32],
        keys: Keys | None,
        *,
        limit: int,
        search_vector: NDArray[np.float32] | None = None,
    ) -> Mapping[int, float]:
        """Return the turns of `keys` (None: any) whose passages are most similar to a vector.

        The vectors have unit length. Each turn has its best weighted cosine: with `search_vector`,
        which is of the `search_embedder`, if that has embedded the turn, else with `vector`.
        """
        with self._reading() as parts:
            own = self._index_embedder
            check_embedder(own, IndexEmbedder(own.name, len(vector)))
            search = parts.search
            if search is None or search_vector is None or len(search_vector) != search.dimensions:
                return parts.vectors.best_per_turn(vector, keys, limit)
            return search.best_per_turn(search_vector, parts.vectors, vector, keys, limit)

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
            return Lookup(parts.catalog.connection)

    def close(self) -> None:
        self._parts.close()

    def _open(self) -> IndexParts:
        path, read_only = self._folder / CATALOG, self.is_read_only
        catalog = Catalog.open_for_reading(path) if read_only else Catalog.open(path)
        try:
            if not read_only:
                catalog.upgrade(lambda: rewrite_words(self._folder, catalog))
            catalog.check_version(self._folder)
            check_embedder(catalog.embedder(), self._index_embedder)
            size, step = self._index_embedder.dimensions, self._before_step
            return IndexParts(self._folder, catalog, size, step, read_only=read_only)
        except BaseException:
            catalog.close()
            raise

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
    questions, chosen = _kept(folder)
    _delete_files(folder)
    create_index(folder, embedder)
    with closing(Catalog.open(folder / CATALOG)) as catalog, catalog.transaction():
        catalog.questions.put(questions)
        if chosen is not None and chosen.embedder != embedder.name:
            record_search_embedding(catalog, chosen.without_turns())


def _kept(folder: Path) -> tuple[Sequence[StoredQuestions], SearchEmbedding | None]:
    """Return the questions and the embedder of the search, as far as they can be read."""
    questions: Sequence[StoredQuestions] = ()
    chosen: SearchEmbedding | None = None
    with suppress(DamagedIndex), open_snapshot(folder) as snapshot:
        if snapshot is not None:
            chosen = snapshot.search_embedding()
            questions = snapshot.questions()
    return questions, chosen


def _delete_files(folder: Path) -> None:
    # The catalog first: what a killed process leaves is no index then, and is deleted later.
    paths = sorted(folder.iterdir(), key=lambda path: path.name != CATALOG)
    for path in paths:
        if path.is_dir():
            delete_folder(path)
        elif not path.name.startswith(LOCK):
            path.unlink(missing_ok=True)
