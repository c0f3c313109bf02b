"""The passages of all turns as memory-mapped matrices, one row per passage.

Rows are only appended. How many of them count is recorded in the catalog, in whose transaction they
become valid: rows after that number are what a killed writer left, and the next one overwrites
them. The rows of a removed turn stay until the index is rebuilt, with the key 0.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnetl.index.port import Keys, PassageTokens

Floats = NDArray[np.float32]

_SCALE = 127
_CHUNK_ROWS = 16_384
"""Rows that are compared at once, as float32 in the processor's cache."""
NO_TURN = 0
"""The key of rows of a removed turn."""


@dataclass(frozen=True, slots=True)
class PassageRows:
    """Passages to append."""

    keys: Sequence[int]
    """The turn of each passage; those of a turn are adjacent."""
    weights: Sequence[float]
    vectors: Floats
    """One row per passage, of unit length."""
    tokens: Sequence[NDArray[np.uint16]]
    """The distinct tokens of each passage, at least one."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How much of the files is valid."""

    rows: int = 0
    tokens: int = 0


class PassageVectors:
    """The files of a folder. One process writes, others read what was valid when they opened it."""

    def __init__(self, folder: Path, dimensions: int, counts: RowCounts) -> None:
        """Map the files.

        Args:
            folder: may be missing if nothing was ever appended.
            dimensions: of the vectors.
            counts: as the catalog records them.

        Raises:
            ValueError: a file is missing or shorter than recorded.
        """
        self.counts = counts
        self._folder = folder
        self._dimensions = dimensions
        self._map()

    def reload(self, counts: RowCounts) -> None:
        """Map what another process appended since."""
        self.counts = counts
        self._map()

    def append(self, added: PassageRows) -> RowCounts:
        """Write rows after the valid ones, durably; return the counts to record."""
        self._folder.mkdir(parents=True, exist_ok=True)
        scales = np.abs(added.vectors).max(axis=1, initial=0) / _SCALE
        divisors = np.where(scales > 0, scales, 1)[:, None]
        lengths = np.array([len(tokens) for tokens in added.tokens], dtype=np.int64)
        start = self.counts.tokens
        self._write("keys", np.asarray(added.keys, dtype=np.int64))
        self._write("weights", np.asarray(added.weights, dtype=np.float32))
        self._write("vectors", np.rint(added.vectors / divisors).astype(np.int8))
        self._write("scales", scales.astype(np.float32))
        self._write("starts", start + np.cumsum(lengths) - lengths)
        self._write("tokens", np.concatenate(added.tokens, dtype=np.uint16), count=start)
        self.counts = RowCounts(self.counts.rows + len(lengths), start + int(lengths.sum()))
        self._map()
        return self.counts

    def remove(self, keys: Keys) -> None:
        """Mark the rows of turns as removed, durably. May be repeated."""
        rows = np.flatnonzero(np.isin(self._keys, keys))
        if not len(rows):
            return
        writable = np.memmap(self._path("keys"), np.int64, "r+", shape=(self.counts.rows,))
        writable[rows] = NO_TURN
        writable.flush()
        self._map()

    def best_per_turn(self, vector: Floats, keys: Keys | None, limit: int) -> dict[int, float]:
        """Return the turns with the highest weighted cosines, each with its best one."""
        rows = None if keys is None else self._rows_of(keys)
        cosines = self._cosines(vector, rows)
        of_rows = self._keys if rows is None else self._keys[rows]
        cosines = np.where(of_rows == NO_TURN, -1, cosines)
        # A turn has several rows: the best `limit` turns are among this many rows, or nearly so.
        count = min(limit * 8, len(cosines))
        top = np.argpartition(-cosines, count - 1)[:count] if count else np.zeros(0, np.int64)
        best: dict[int, float] = {}
        for row in top[np.argsort(-cosines[top], kind="stable")].tolist():
            if cosines[row] <= 0 or len(best) == limit:
                break
            best.setdefault(int(of_rows[row]), float(cosines[row]))
        return best

    def tokens_of(self, keys: Keys) -> PassageTokens:
        rows = self._rows_of(keys)
        ends = np.append(self._starts, self.counts.tokens)
        lengths = ends[rows + 1] - ends[rows]
        starts = np.cumsum(lengths) - lengths
        positions = np.repeat(ends[rows] - starts, lengths) + np.arange(lengths.sum())
        return PassageTokens(self._keys[rows], self._weights[rows], self._tokens[positions], starts)

    def _cosines(self, vector: Floats, rows: NDArray[np.int64] | None) -> Floats:
        count = self.counts.rows if rows is None else len(rows)
        cosines = np.empty(count, dtype=np.float32)
        for start in range(0, count, _CHUNK_ROWS):
            chunk: slice | NDArray[np.int64] = slice(start, start + _CHUNK_ROWS)
            target = cosines[start : start + _CHUNK_ROWS]
            if rows is not None:
                chunk = rows[start : start + _CHUNK_ROWS]
            np.matmul(self._vectors[chunk].astype(np.float32), vector, out=target)
            target *= self._scales[chunk] * self._weights[chunk]
        return cosines

    def _rows_of(self, keys: Keys) -> NDArray[np.int64]:
        return np.flatnonzero(np.isin(self._keys, keys))

    def _map(self) -> None:
        rows = self.counts.rows
        self._keys = self._mapped("keys", np.int64, (rows,))
        self._weights = self._mapped("weights", np.float32, (rows,))
        self._vectors = self._mapped("vectors", np.int8, (rows, self._dimensions))
        self._scales = self._mapped("scales", np.float32, (rows,))
        self._starts = self._mapped("starts", np.int64, (rows,))
        self._tokens = self._mapped("tokens", np.uint16, (self.counts.tokens,))

    def _mapped(self, name: str, dtype: type, shape: tuple[int, ...]) -> NDArray[Any]:
        if not shape[0]:
            return np.zeros(shape, dtype)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if not self._path(name).exists() or self._path(name).stat().st_size < size:
            raise ValueError(f"{self._path(name).name} is truncated")
        return np.memmap(self._path(name), dtype, "r", shape=shape)

    def _write(self, name: str, values: NDArray[Any], *, count: int | None = None) -> None:
        """Write values after the valid ones of a file: `count` of them, or one per row."""
        before = self.counts.rows if count is None else count
        width = values.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
        with self._path(name).open("r+b" if self._path(name).exists() else "w+b") as file:
            file.truncate(before * width)
            file.seek(before * width)
            file.write(np.ascontiguousarray(values).tobytes())
            file.flush()
            os.fsync(file.fileno())

    def _path(self, name: str) -> Path:
        return self._folder / name
