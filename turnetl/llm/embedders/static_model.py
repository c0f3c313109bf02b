"""The embedder that works offline, by the static token vectors of the package wordllama."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from turnetl.base.batched import batched, batched_by_size
from turnetl.base.errors import Fatal
from turnetl.base.model import Vector
from turnetl.llm.vectors import Matrix, pack

PACKAGE = "wordllama"
MODEL = "l2_supercat"
DIMENSIONS = 256

_BATCH_TOKENS = 2048
"""Whose vectors are in memory together: 2 MB, which the caches of a processor hold."""
_REMEMBERED = 2048
"""Texts: the index stores the tokens of passages that are embedded next."""
_UNKNOWN = 0
"""The token of a text without tokens."""


@dataclass(frozen=True)
class StaticModel:
    """A vector for each token, whatever stands around it.

    Importing the package would install a log handler, load an HTTP client and search the network
    for the tokenizer.
    """

    folder: Path

    @classmethod
    def open(cls) -> "StaticModel":
        """Find the data. They are read at their first use, once in a process."""
        spec = find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise Fatal(f"the package `{PACKAGE}` is missing: install turnetl's dependencies again")
        return _model(Path(spec.submodule_search_locations[0]))

    @cached_property
    def name(self) -> str:
        return f"{PACKAGE}/{MODEL}_{DIMENSIONS}/{version(PACKAGE)}"

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each text, at least one: numbers below 65,536."""
        return [*map(self._tokens, texts)]

    def text_vectors(self, tokens: Sequence[Sequence[int]]) -> Matrix:
        """Return the mean vector of the tokens of each text, of unit length, one row per text."""
        batches = batched_by_size(tokens, map(len, tokens), size=_BATCH_TOKENS)
        return np.concatenate([self._text_vectors(batch) for batch in batches])

    def _text_vectors(self, tokens: Sequence[Sequence[int]]) -> Matrix:
        starts = np.cumsum([0, *(len(of_text) for of_text in tokens[:-1])])
        # A text without tokens has that of the unknown token: no vector has length zero.
        rows = self._rows(np.concatenate([np.asarray(of_text) for of_text in tokens]))
        return _unit(np.add.reduceat(rows, starts, axis=0))

    def token_cosines(self, left: NDArray[np.integer], right: NDArray[np.integer]) -> Matrix:
        """Return the cosines of tokens, a row per token of `left`, a column per one of `right`."""
        rows = self._rows(right)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        products = _unit(self._rows(left)) @ rows.T
        cosines: Matrix = products / np.maximum(lengths, np.finfo("<f4").tiny)
        return cosines

    def _rows(self, tokens: NDArray[np.integer]) -> Matrix:
        rows: Matrix = self._weights[tokens].astype("<f4")
        return rows

    @cached_property
    def _weights(self) -> NDArray[np.float16]:
        """Mapped into memory: a text needs few of the rows."""
        path = self.folder / "weights" / f"{MODEL}_{DIMENSIONS}.safetensors"
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = msgspec.json.decode(file.read(size))["embedding.weight"]
        offset, _ = header["data_offsets"]
        shape = tuple(header["shape"])
        return np.memmap(path, "<f2", "r", 8 + size + offset, shape).view(np.ndarray)

    @cached_property
    def _tokens(self) -> Callable[[str], tuple[int, ...]]:
        return lru_cache(_REMEMBERED)(self._encoded)

    def _encoded(self, text: str) -> tuple[int, ...]:
        encodable = text.encode("utf-8", "replace").decode()
        (encoded,) = self._tokenizer.encode_batch_fast([encodable], add_special_tokens=False)
        return tuple(encoded.ids) or (_UNKNOWN,)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        path = self.folder / "tokenizers" / f"{MODEL}_tokenizer_config.json"
        return Tokenizer.from_file(str(path))


@cache
def _model(folder: Path) -> StaticModel:
    """Return the model of a folder, whose files never change: parsing them takes 0.1 s."""
    return StaticModel(folder)


def _unit(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Matrix = (rows / np.maximum(lengths, np.finfo("<f4").tiny)).astype("<f4")
    return unit


_BATCH_SIZE = 256
"""Texts. A larger batch would only need more memory."""


class WordLlamaEmbedder:
    """Static embeddings: a text is the mean of its tokens' vectors. A fact costs 0.02 ms of CPU."""

    @cached_property
    def name(self) -> str:
        return self._model.name

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order. A vector does not depend on the other texts."""
        return [
            pack(row)
            for batch in batched(texts, _BATCH_SIZE)
            for row in self._model.text_vectors(self._model.tokenize(batch))
        ]

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    @cached_property
    def _model(self) -> StaticModel:
        return StaticModel.open()
