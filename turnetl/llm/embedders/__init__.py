"""The port of embedders: texts in, vectors out; a cache around any; and the choice of one.

Embedders are built in, models that run on this machine, or servers; each is imported on first use.
"""

import asyncio
import struct
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from turnetl.base.batched import batched
from turnetl.base.errors import BadUsage
from turnetl.base.model import Vector

if TYPE_CHECKING:  # these import pydantic, numpy and the prices
    from turnetl.llm.meter import Meter
    from turnetl.llm.retry import RetryPolicy


class Embedder(Protocol):
    """Embeds texts as vectors of unit length."""

    @property
    def name(self) -> str:
        """Package or provider, model and version; recorded in the group's profile."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order."""
        ...

    async def close(self) -> None:
        """Close connections. May be called more than once."""


_FLOAT_BYTES = struct.calcsize("<f")


def floats(vector: Vector) -> list[float]:
    """Return a vector as a list of Python floats, without numpy, which takes long to import."""
    return list(struct.unpack(f"<{len(vector) // _FLOAT_BYTES}f", vector))


_BATCH_SIZE = 256
"""Texts per request."""


class CachedEmbedder:
    """One per process. Each name and fact of a turn is embedded twice, and again in later turns.

    A text that is already being embedded is not requested again. Texts requested in the same
    iteration of the event loop are sent together.
    """

    def __init__(self, embedder: Embedder, size: int = 20_000) -> None:
        """Wrap an embedder; `size` is in texts, each 1 kB at 256 dimensions."""
        self._embedder = embedder
        self._size = size
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._pending: dict[str, asyncio.Future[Vector]] = {}
        self._batch: list[str] = []
        """Texts to send at the end of this iteration of the event loop."""
        self._requests: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order; raises what the embedder raises."""
        results = [self._lookup(text) for text in texts]
        # Shielded: the cancellation of one caller must not affect the others.
        return [
            await asyncio.shield(result) if isinstance(result, asyncio.Future) else result
            for result in results
        ]

    async def close(self) -> None:
        """Cancel open requests and close the embedder. Safe to repeat."""
        for task in self._requests:
            task.cancel()
        await asyncio.gather(*self._requests, return_exceptions=True)
        await self._embedder.close()

    def _lookup(self, text: str) -> Vector | asyncio.Future[Vector]:
        if text in self._cache:
            self._cache.move_to_end(text)
            return self._cache[text]
        if text not in self._pending:
            loop = asyncio.get_running_loop()
            self._pending[text] = loop.create_future()
            if not self._batch:
                loop.call_soon(self._send)
            self._batch.append(text)
        return self._pending[text]

    def _send(self) -> None:
        texts, self._batch = self._batch, []
        for batch in batched(texts, _BATCH_SIZE):
            task = asyncio.create_task(self._request(batch))
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)

    async def _request(self, texts: Sequence[str]) -> None:
        try:
            vectors = [*zip(texts, await self._embedder.embed(texts), strict=True)]
        except BaseException as error:
            self._fail(texts, error)
            if isinstance(error, Exception):
                return
            raise
        for text, vector in vectors:
            self._pending.pop(text).set_result(vector)
            self._cache[text] = vector
        while len(self._cache) > self._size:
            self._cache.popitem(last=False)

    def _fail(self, texts: Sequence[str], error: BaseException) -> None:
        for text in texts:
            future = self._pending.pop(text)
            if isinstance(error, Exception):
                future.set_exception(error)
                # Mark the exception as retrieved: all callers may have been cancelled.
                future.exception()
            else:
                future.cancel()


BUILT_IN = "local"
MINILM = "minilm"
EMBEDDERS = (BUILT_IN, MINILM, "fastembed", "openai-compatible")
REMOTE = ("openai-compatible",)
"""Embedders that send texts to a server, which may cost money."""


def is_folder(model: str) -> bool:
    """Return whether a name of a model is the path of a folder.

    A folder of the working directory is written `./NAME`: the author of the working directory must
    not replace a model by a folder of its name.
    """
    return Path(model).is_absolute() or model.startswith(("/", ".", "~", "\\"))


def open_embedder(
    provider: str,
    *,
    base_url: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    retry_policy: "RetryPolicy | None" = None,
    meter: "Meter | None" = None,
    cache: Path | None = None,
) -> Embedder:
    """Return an embedder; opens no connection yet.

    Args:
        provider: one of `EMBEDDERS`; `local` and `minilm` need nothing else.
        base_url: including `/v1`; None: OpenAI's.
        model: the provider's name of the model; with `fastembed` also a folder.
        dimensions: of the vectors; None: the model's default.
        meter: counts the requests to a server.
        cache: folder of downloaded models, which `fastembed` needs.
    """
    if provider == BUILT_IN:
        from turnetl.llm.embedders.static_model import WordLlamaEmbedder  # noqa: PLC0415 - a tokenizer

        return WordLlamaEmbedder()
    if provider == MINILM:
        from turnetl.llm.embedders.fast_embed import open_minilm  # noqa: PLC0415 - an extra

        return open_minilm()
    if provider not in EMBEDDERS:
        raise BadUsage(f"unknown embedder `{provider}`; known are {', '.join(EMBEDDERS)}")
    if not model:
        raise BadUsage(f"embedder `{provider}` needs a model name: set TURNETL_EMBEDDER__MODEL")
    if provider == "fastembed":
        from turnetl.llm.embedders.fast_embed import open_fastembed  # noqa: PLC0415 - an extra

        return open_fastembed(model, cache or Path())
    from turnetl.llm.embedders.openai_compatible import BASE_URL, OpenAiEmbedder  # noqa: PLC0415

    return OpenAiEmbedder(
        model,
        base_url or BASE_URL,
        api_key,
        dimensions=dimensions,
        retry_policy=retry_policy,
        meter=meter,
    )
