"""The passages of turns as vectors of a second embedder, which finds more and takes longer.

The user chooses it, and has turns embedded when the machine has time for that. Turns are embedded
in the order of their keys: those after the last one wait, and are compared by the embedder of the
index. Each choice has a folder of its own, so that readers of an earlier one keep its files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.base import ids
from turnetl.base.errors import IndexBusy
from turnetl.base.model import Vector
from turnetl.episode_text.passages import Passage
from turnetl.index.catalog import Catalog, text_digest
from turnetl.index.documents import indexed_passages
from turnetl.index.files import SEARCH_VECTORS, IndexEmbedder, check_embedder
from turnetl.index.port import Keys
from turnetl.index.vectors import PassageRows, PassageVectors, ValidRows
from turnetl.llm.vectors import stack

_SETTING = "search_embedding"
_BATCH_PASSAGES = 32
"""Passages that are embedded together, unless one turn has more: a kill loses at most these."""
_BATCH_TURNS = 32
_NO_TOKENS: NDArray[np.uint16] = np.zeros(0, dtype=np.uint16)


class SearchEmbedding(msgspec.Struct, frozen=True):
    """Which embedder was chosen for the search, and what it has embedded."""

    choice: str
    """As the user names it: `minilm`, `fastembed:NAME` or the absolute path of a folder."""
    embedder: str
    """Its name, which tells models apart."""
    dimensions: int
    last_key: int = 0
    """Turns with higher keys wait."""
    valid: ValidRows = ValidRows()

    @property
    def folder_name(self) -> str:
        return ids.digest(self.embedder, str(self.dimensions))[:16]

    def without_turns(self) -> "SearchEmbedding":
        return SearchEmbedding(self.choice, self.embedder, self.dimensions)

    def is_of(self, other: "SearchEmbedding | None") -> bool:
        return other is not None and self.folder_name == other.folder_name


def search_embedding(catalog: Catalog) -> SearchEmbedding | None:
    packed = catalog.setting(_SETTING)
    return msgspec.json.decode(packed, type=SearchEmbedding) if packed else None


def record_search_embedding(catalog: Catalog, embedding: SearchEmbedding | None) -> None:
    catalog.record(_SETTING, msgspec.json.encode(embedding) if embedding else None)
    catalog.next_generation()


def waiting_turns(catalog: Catalog, embedding: SearchEmbedding) -> Keys:
    """Return the turns that wait, ascending."""
    rows = catalog.query("SELECT key FROM turns WHERE key > ? ORDER BY key", embedding.last_key)
    return np.array([key for (key,) in rows], dtype=np.int64)


class SearchVectors:
    """The vectors of the turns that were embedded, open for reading."""

    def __init__(self, folder: Path, catalog: Catalog, embedding: SearchEmbedding) -> None:
        self.embedding = embedding
        self.waiting = waiting_turns(catalog, embedding)
        self.vectors = PassageVectors(
            folder / SEARCH_VECTORS / embedding.folder_name,
            embedding.dimensions,
            embedding.valid,
            catalog.removed_turns(),
        )

    @property
    def dimensions(self) -> int:
        return self.embedding.dimensions

    def best_per_turn(
        self,
        vector: NDArray[np.float32],
        own: PassageVectors,
        own_vector: NDArray[np.float32],
        keys: Keys | None,
        limit: int,
    ) -> dict[int, float]:
        """Return the turns with the highest weighted cosines; of those that wait, by `own`."""
        embedded = None if keys is None else keys[keys <= self.embedding.last_key]
        found = self.vectors.best_per_turn(vector, embedded, limit)
        if not len(self.waiting):
            return found
        waiting = self.waiting if keys is None else np.intersect1d(keys, self.waiting)
        found |= own.best_per_turn(own_vector, waiting, limit)
        return dict(sorted(found.items(), key=lambda item: -item[1])[:limit])


@dataclass(frozen=True, slots=True)
class WaitingBatch:
    """The next turns to embed, with their passages."""

    index_id: str
    embedding: SearchEmbedding
    """Before the batch."""
    keys: Sequence[int]
    """Of the turns, at least one."""
    passages: Sequence[Sequence[Passage]]
    """Of each turn."""

    @property
    def texts(self) -> list[str]:
        return [passage.text for of_turn in self.passages for passage in of_turn]


def waiting_batch(catalog: Catalog) -> WaitingBatch | None:
    """Return the next turns to embed; None if none waits."""
    embedding = search_embedding(catalog)
    keys = waiting_turns(catalog, embedding)[:_BATCH_TURNS].tolist() if embedding else []
    if embedding is None or not keys:
        return None
    turns = catalog.turns(keys)
    stored = catalog.questions.of_turns([turn.turn_id for turn in turns.values()])
    passages = []
    for key in keys:
        text, asked = turns[key].text, stored.get(turns[key].turn_id)
        applies = asked is not None and asked.digest == text_digest(text)
        passages.append(indexed_passages(text, asked.questions if asked and applies else ()))
    sizes = accumulate(len(of_turn) for of_turn in passages)
    count = max(1, sum(size <= _BATCH_PASSAGES for size in sizes))
    index_id = catalog.setting("index_id")
    return WaitingBatch(index_id, embedding, keys[:count], passages[:count])


def add_batch(
    folder: Path, catalog: Catalog, batch: WaitingBatch, vectors: Sequence[Vector]
) -> None:
    """Write the vectors of a batch. The caller excludes other writers.

    Raises:
        IndexBusy: another process changed the index meanwhile; there is another next batch.
        IndexUnusable: the vectors have other dimensions than earlier ones.
    """
    before = batch.embedding
    is_current = search_embedding(catalog) == before
    if catalog.setting("index_id") != batch.index_id or not is_current:
        raise IndexBusy("another turnetl process changed the search index meanwhile")
    of_turns = zip(batch.keys, batch.passages, strict=True)
    owners = [(key, passage.weight) for key, passages in of_turns for passage in passages]
    valid = before.valid
    if vectors:
        rows = stack(vectors)
        recorded = IndexEmbedder(before.embedder, before.dimensions)
        check_embedder(recorded, IndexEmbedder(before.embedder, rows.shape[1]))
        opened = SearchVectors(folder, catalog, before).vectors
        keys, weights = zip(*owners, strict=True)
        valid = opened.append(PassageRows(keys, weights, rows, [_NO_TOKENS] * len(keys)))
        opened.close()
    after = msgspec.structs.replace(before, last_key=batch.keys[-1], valid=valid)
    with catalog.transaction():
        record_search_embedding(catalog, after)
