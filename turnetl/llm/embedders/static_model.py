"""The embedder that works offline, by the static token vectors of the package wordllama."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from heapq import heappop, heappush
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.base.batched import batched, batched_by_size
from turnetl.base.errors import Fatal
from turnetl.base.model import Vector
from turnetl.llm.vectors import Matrix, pack

PACKAGE = "wordllama"
MODEL = "l2_supercat"
DIMENSIONS = 256
_TOKENIZER = Path("tokenizers", f"{MODEL}_tokenizer_config.json")

_BATCH_TOKENS = 2048
"""Whose vectors are in memory together: 2 MB, which the caches of a processor hold."""
_REMEMBERED = 2048
"""Texts: the index stores the tokens of passages that are embedded next."""
_REMEMBERED_WORDS = 1 << 14
_MANY_CHARACTERS = 50_000
"""For more at a time, the library `tokenizers` is loaded."""
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
        are_long = sum(map(len, texts)) > _MANY_CHARACTERS
        tokens = self._tokens_of_many if are_long else self._tokens
        return [tokens(text.encode("utf-8", "replace").decode()) or (_UNKNOWN,) for text in texts]

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
        content = (self.folder / _TOKENIZER).read_bytes()
        vocabulary = msgspec.json.decode(content, type=_TokenizerFile).model.vocab
        return lru_cache(_REMEMBERED)(_Tokenizer(vocabulary).tokens)

    @cached_property
    def _tokens_of_many(self) -> Callable[[str], tuple[int, ...]]:
        from tokenizers import Tokenizer  # noqa: PLC0415 - of many texts only

        encode = Tokenizer.from_file(str(self.folder / _TOKENIZER)).encode_batch_fast
        return lru_cache(_REMEMBERED)(
            lambda text: tuple(encode([text], add_special_tokens=False)[0].ids)
        )


class _Model(msgspec.Struct):
    vocab: dict[str, int]


class _TokenizerFile(msgspec.Struct):
    model: _Model


_SPACE = "▁"
_SPECIAL = re.compile("(<unk>|<s>|</s>)")
_WORD = re.compile(rf"{_SPACE}*[^{_SPACE}\n]+|{_SPACE}+|\n")
"""No token has a space after another character, or a line feed."""


class _Tokenizer:
    """Finds the tokens that the library `tokenizers` finds.

    The library takes three times as long to read its file and a third of the time for each text.
    The characters of a word are merged in pairs, first those that make the token of the lowest
    rank. A token's number is its rank, but spaces come last.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._numbers = vocabulary
        self._of_word = lru_cache(_REMEMBERED_WORDS)(self._merged)

    def tokens(self, text: str) -> tuple[int, ...]:
        found: list[int] = []
        for place, part in enumerate(_SPECIAL.split(text)):
            if place % 2:
                found.append(self._numbers[part])
            elif part:
                for word in _WORD.findall(_SPACE + part.replace(" ", _SPACE)):
                    found += self._of_word(word)
        return tuple(found)

    def _merged(self, word: str) -> tuple[int, ...]:
        parts = [*self._characters(word)]
        after = [*range(1, len(parts)), 0]
        before = [*range(-1, len(parts) - 1)]
        merges: list[tuple[bool, int, int, int, int, str]] = []

        def propose(left: int) -> None:
            if left < 0 or not (right := after[left]):
                return
            both = parts[left] + parts[right]
            if (merged := self._numbers.get(both)) is not None:
                ends = self._numbers[parts[left]], self._numbers[parts[right]]
                heappush(merges, (not both.strip(_SPACE), merged, *ends, left, both))

        for left in range(len(parts)):
            propose(left)
        while merges:
            *_, left, both = heappop(merges)
            # A merge may be outdated: one of its parts is now a part of another.
            if parts[left] and (right := after[left]) and parts[left] + parts[right] == both:
                parts[left], parts[right] = both, ""
                after[left] = following = after[right]
                if following:
                    before[following] = left
                propose(before[left])
                propose(left)
        return tuple(self._numbers[part] for part in parts if part)

    def _characters(self, word: str) -> Iterator[str]:
        for character in word:
            if character in self._numbers:
                yield character
            else:
                yield from (f"<0x{byte:02X}>" for byte in character.encode())


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
