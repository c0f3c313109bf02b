"""The passages of all turns as memory-mapped int8 arrays, a row per passage, in key order.

Rows are only appended. The catalog records how many are valid, in whose transaction they become
so: rows after that number are what a killed writer left, and the next one overwrites them. The rows
of a removed turn stay until the index is rebuilt; the catalog knows which these are.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from io import FileIO
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.base import private_files
from turnetl.index.files import DamagedFile, no_step
from turnetl.index.port import Keys, PassageTokens
from turnetl.llm.vectors import Int8s, integer_products, quantized

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_SAMPLED = 64
"""Every such number of values is looked at to find how high the best ones are."""


def rough_products(vectors: Int8s, vector: Floats) -> Floats:
    """Return the inner product of each row with a vector that is rounded as the rows are."""
    integers, scales = quantized(vector[None, :])
    of_rows: Floats = integer_products(vectors, integers)[0] * scales
    return of_rows


def highest(values: Floats, count: int) -> Rows:
    """Return where the highest values are, at least `count` of them if there are, ascending."""
    if len(values) <= count:
        return np.arange(len(values))
    sample = values[::_SAMPLED]
    wanted = 2 * count // _SAMPLED
    if wanted < len(sample):
        limit = np.partition(sample, len(sample) - wanted)[len(sample) - wanted]
        found = np.flatnonzero(values >= limit)
        if len(found) >= count:
            return found
    return np.sort(np.argpartition(-values, count - 1)[:count])


_MAX_EXACT = 50_000
"""More rows than this are compared roughly first, and the best of them exactly."""
_MAX_COMPARED = 200_000
"""More rows than this are compared by their heads only."""
MAX_MAPPED_BYTES = 256_000_000
"""Of a larger file, each row that is compared is read by itself, in ten times the time: mapped, it
would bring its neighbours into memory, 64 kB at a time."""
_MANY_ROWS = 1 / 4
"""If more of the rows are selected, all are compared: to collect them would take longer."""
_HEAD_SHARE = 3 / 8
"""Share of the dimensions in a head."""
_BEST = 5_000
"""Of 290,000 passages, these have 99 % of the 50 turns that all dimensions put first."""
_MAX_SEARCHED = 10_000
"""The rows of more turns are found by a pass over all rows, not one turn after another."""
_CHECKED_BYTES = 4096
"""At the beginning and at the end of each file: finds files that were truncated or replaced."""
_NO_KEYS: Keys = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PassageRows:
    keys: Sequence[int]
    """The turn of each passage, ascending and higher than those of earlier rows."""
    weights: Sequence[float]
    vectors: Floats
    """One row per passage, of unit length."""
    tokens: Sequence[NDArray[np.uint16]]
    """The distinct tokens of each passage: at least one, unless they are never asked for."""


def count_held(keys: Keys, removed: Keys) -> int:
    """Return how many rows, given by their turns, are of turns that were not removed."""
    return int(np.isin(keys, removed, invert=True).sum())


class ValidRows(msgspec.Struct, frozen=True):
    """How much of the files is valid, as the catalog records it."""

    rows: int = 0
    tokens: int = 0
    checksum: int = 0
    """Of both ends of each file, which are read whenever it is opened."""
    files: Mapping[str, int] = {}
    """The checksum of the valid part of each file, which `verify` reads; none of an index of an
    earlier version until its next turn."""


@dataclass(frozen=True, slots=True)
class _Arrays:
    """The valid part of the files. The order of the fields is that of their checksum."""

    keys: Keys
    weights: Floats
    vectors: Int8s
    heads: Int8s
    """The first dimensions of each vector: fewer bytes to read."""
    scales: Floats
    starts: Rows
    tokens: NDArray[np.uint16]

    @classmethod
    def map(cls, folder: Path, dimensions: int, valid: ValidRows) -> "_Arrays":
        rows = valid.rows
        return cls(
            _mapped(folder / "keys", np.int64, (rows,)),
            _mapped(folder / "weights", np.float32, (rows,)),
            _mapped(folder / "vectors", np.int8, (rows, dimensions)),
            _mapped(folder / "heads", np.int8, (rows, _head(dimensions))),
            _mapped(folder / "scales", np.float32, (rows,)),
            _mapped(folder / "starts", np.int64, (rows,)),
            _mapped(folder / "tokens", np.uint16, (valid.tokens,)),
        )

    def checksum(self) -> int:
        checksum = 0
        for array in fields(self):
            content = getattr(self, array.name).reshape(-1).view(np.uint8)
            for part in (content[:_CHECKED_BYTES], content[-_CHECKED_BYTES:]):
                checksum = crc32(part.tobytes(), checksum)
        return checksum


class PassageVectors:
    """The files of a folder. One process writes, others read what is valid."""

    def __init__(
        self,
        folder: Path,
        dimensions: int,
        valid: ValidRows,
        removed: Keys = _NO_KEYS,
        before_step: Callable[[str], None] = no_step,
        *,
        max_mapped: int = MAX_MAPPED_BYTES,
    ) -> None:
        """Map the files.

        Args:
            folder: may be missing if nothing was ever appended.
            max_mapped: bytes of a file of vectors that may be in memory as a whole.

        Raises:
            DamagedFile: a file is missing, truncated or replaced.
        """
        self._folder = folder
        self._dimensions = dimensions
        self._before_step = before_step
        self._max_mapped = max_mapped
        self._file: FileIO | None = None
        self.reload(valid, removed)

    def reload(self, valid: ValidRows, removed: Keys) -> None:
        """Map what is valid now."""
        arrays = _Arrays.map(self._folder, self._dimensions, valid)
        if arrays.checksum() != valid.checksum:
            raise DamagedFile(f"a file in `{self._folder.name}` is not as it was written")
        self.close()
        if valid.rows:
            self._file = (self._folder / "vectors").open("rb", buffering=0)
        self.valid = valid
        self._arrays = arrays
        self._removed = removed

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, added: PassageRows) -> ValidRows:
        """Write rows after the valid ones, durably; return what to record. `reload` shows them."""
        private_files.create_folder(self._folder, self._folder.parent)
        lengths = np.array([len(tokens) for tokens in added.tokens], dtype=np.int64)
        before = self.valid
        starts = before.tokens + np.cumsum(lengths) - lengths
        tokens = np.concatenate([*added.tokens, np.zeros(0, np.uint16)]).astype(np.uint16)
        vectors, scales = quantized(added.vectors)
        files = {
            name: self._write(name, values, before.rows)
            for name, values in (
                ("keys", np.asarray(added.keys, dtype=np.int64)),
                ("weights", np.asarray(added.weights, dtype=np.float32)),
                ("vectors", vectors),
                ("heads", vectors[:, : _head(self._dimensions)]),
                ("scales", scales),
                ("starts", starts),
            )
        }
        files["tokens"] = self._write("tokens", tokens, before.tokens)
        rows, count = before.rows + len(lengths), before.tokens + len(tokens)
        written = _Arrays.map(self._folder, self._dimensions, ValidRows(rows, count))
        return ValidRows(rows, count, written.checksum(), files)

    def verify(self) -> None:
        """Read all files whole, and raise DamagedFile if one is not as it was written."""
        for name, expected in self.valid.files.items():
            content = getattr(self._arrays, name).reshape(-1).view(np.uint8)
            if crc32(content) != expected:
                raise DamagedFile(f"`{self._folder.name}/{name}` is not as it was written")

    def keys(self) -> Keys:
        """Return the turn of each row."""
        return self._arrays.keys

    def best_per_turn(self, vector: Floats, keys: Keys | None, limit: int) -> dict[int, float]:
        """Return the turns with the highest weighted cosines, each with its best one."""
        rows = self._likely_rows(vector, None if keys is None else self._rows_of(keys))
        if not len(rows):
            return {}
        of_rows = self._arrays.keys[rows]
        cosines = self._read(rows).astype(np.float32) @ vector * self._factors(rows)
        firsts = np.flatnonzero(np.diff(of_rows, prepend=-1))
        best = np.maximum.reduceat(cosines, firsts)
        top = np.flatnonzero(best > 0)
        if len(top) > limit:
            top = top[np.argpartition(-best[top], limit - 1)[:limit]]
        top = top[np.argsort(-best[top], kind="stable")]
        turns = of_rows[firsts[top]].tolist()
        return dict(zip(turns, best[top].tolist(), strict=True))

    def _likely_rows(self, vector: Floats, rows: Rows | None) -> Rows:
        """Return the rows, ascending, that may be the most similar; all if they are few."""
        if rows is not None and len(rows) <= _MAX_EXACT:
            return rows
        if rows is not None and len(rows) <= _MANY_ROWS * len(self._arrays.keys):
            return rows[highest(self._rough_products(vector, rows), _BEST)]
        products = self._rough_products(vector, slice(None))
        if rows is not None:
            return rows[highest(products[rows], _BEST)]
        products[self._rows_of(self._removed)] = -1
        best = highest(products, _BEST)
        return best[products[best] > 0]

    def _rough_products(self, vector: Floats, selected: Rows | slice) -> Floats:
        """Return about the weighted cosines of rows; of very many, by their heads."""
        arrays = self._arrays
        if len(arrays.keys[selected]) > _MAX_COMPARED:
            products = rough_products(arrays.heads[selected], vector[: arrays.heads.shape[1]])
        else:
            products = rough_products(arrays.vectors[selected], vector)
        products *= self._factors(selected)
        return products

    def _factors(self, rows: Rows | slice) -> Floats:
        return self._arrays.scales[rows] * self._arrays.weights[rows]

    def tokens_of(self, keys: Keys) -> PassageTokens:
        rows, arrays = self._rows_of(keys), self._arrays
        if not len(rows):
            return PassageTokens(_NO_KEYS, arrays.weights[:0], arrays.tokens[:0], _NO_KEYS)
        following = np.minimum(rows + 1, len(arrays.starts) - 1)
        is_last = rows + 1 == len(arrays.starts)
        ends = np.where(is_last, len(arrays.tokens), arrays.starts[following])
        lengths = ends - arrays.starts[rows]
        starts = np.cumsum(lengths) - lengths
        positions = np.repeat(arrays.starts[rows] - starts, lengths) + np.arange(lengths.sum())
        return PassageTokens(
            arrays.keys[rows], arrays.weights[rows], arrays.tokens[positions], starts
        )

    def _read(self, rows: Rows) -> Int8s:
        if self._file is None or self._arrays.vectors.nbytes <= self._max_mapped:
            return self._arrays.vectors[rows]
        vectors = np.empty((len(rows), self._dimensions), dtype=np.int8)
        starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
        for first, end in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
            self._file.seek(int(rows[first]) * self._dimensions)
            self._file.readinto(vectors[first:end].data.cast("B"))
        return vectors

    def _rows_of(self, keys: Keys) -> Rows:
        """Return the rows of turns, ascending; keys without rows are left out."""
        if len(keys) > _MAX_SEARCHED:
            is_wanted = np.zeros(int(self._arrays.keys[-1:].max(initial=0)) + 1, dtype=np.bool_)
            is_wanted[keys[keys < len(is_wanted)]] = True
            return np.flatnonzero(is_wanted[self._arrays.keys])
        firsts = np.searchsorted(self._arrays.keys, keys, "left")
        counts = np.searchsorted(self._arrays.keys, keys, "right") - firsts
        starts = np.cumsum(counts) - counts
        return np.repeat(firsts - starts, counts) + np.arange(counts.sum())

    def _write(self, name: str, values: NDArray[Any], before: int) -> int:
        """Write values after the first `before` ones of a file; return its checksum then."""
        self._before_step(f"vectors/{name}")
        path = self._folder / name
        offset = before * values.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
        with private_files.open_or_create(path) as file:
            file.truncate(offset)
            checksum = self.valid.files.get(name) if before else 0
            if checksum is None:  # an index of an earlier version
                checksum = crc32(file.read(offset))
            content = np.ascontiguousarray(values).tobytes()
            file.seek(offset)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return crc32(content, checksum)


def _mapped(path: Path, dtype: type, shape: tuple[int, ...]) -> NDArray[Any]:
    if not shape[0]:
        return np.zeros(shape, dtype)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not path.exists() or path.stat().st_size < size:
        raise DamagedFile(f"`{path.parent.name}/{path.name}` is truncated")
    return np.memmap(path, dtype, "r", shape=shape).view(np.ndarray)


def _head(dimensions: int) -> int:
    return max(int(dimensions * _HEAD_SHARE), 1)
