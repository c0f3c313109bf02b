"""The embedder that works offline."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from turnetl.errors import Fatal
from turnetl.llm.vectors import pack
from turnetl.model import Vector

_PACKAGE = "wordllama"
_MODEL = "l2_supercat"
_DIMENSIONS = 256
_BATCH_SIZE = 256
"""Texts. A larger batch would only need more memory."""


class WordLlamaEmbedder:
    """Static embeddings from the package wordllama: a text is the mean of its tokens' vectors.

    Only the data of the package are used. Importing it would install a log handler, load an HTTP
    client and search the network for the tokenizer. Opening takes 0.2 s, a fact 0.02 ms of CPU.
    """

    @cached_property
    def name(self) -> str:
        return f"{_PACKAGE}/{_MODEL}_{_DIMENSIONS}/{version(_PACKAGE)}"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order. A vector does not depend on the other texts."""
        batches = (
            texts[start : start + _BATCH_SIZE] for start in range(0, len(texts), _BATCH_SIZE)
        )
        return [pack(row) for batch in batches for row in self._model.embed(list(batch))]

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    @cached_property
    def _model(self) -> "_StaticModel":
        return _StaticModel.load(_folder())


@dataclass(frozen=True)
class _StaticModel:
    tokens: NDArray[np.float32]
    tokenizer: Tokenizer

    @classmethod
    def load(cls, folder: Path) -> "_StaticModel":
        weights = load_file(folder / "weights" / f"{_MODEL}_{_DIMENSIONS}.safetensors")
        tokenizer = folder / "tokenizers" / f"{_MODEL}_tokenizer_config.json"
        return cls(weights["embedding.weight"].astype("<f4"), Tokenizer.from_file(str(tokenizer)))

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        encodable = [text.encode("utf-8", "replace").decode() for text in texts]
        encoded = self.tokenizer.encode_batch_fast(encodable, add_special_tokens=False)
        # A text without tokens gets the vector of the unknown token: no vector has length zero.
        ids = [encoding.ids or [0] for encoding in encoded]
        starts = np.cumsum([0, *(len(tokens) for tokens in ids[:-1])])
        sums = np.add.reduceat(self.tokens[np.concatenate(ids)], starts, axis=0)
        lengths: NDArray[np.float32] = np.linalg.norm(sums, axis=1, keepdims=True)
        unit: NDArray[np.float32] = (sums / np.maximum(lengths, np.finfo("<f4").tiny)).astype("<f4")
        return unit


def _folder() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise Fatal(f"the package `{_PACKAGE}` is missing: install turnetl's dependencies again")
    return Path(spec.submodule_search_locations[0])
