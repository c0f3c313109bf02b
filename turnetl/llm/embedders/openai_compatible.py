"""The embeddings of OpenAI, and of the many servers that speak the same."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnetl.errors import ModelBusy, ModelRefused
from turnetl.llm.meter import Meter, estimate_tokens
from turnetl.llm.retry import RetryPolicy, Sleep, with_retries
from turnetl.llm.transport.http import Endpoint, Timeouts
from turnetl.llm.transport.payload import join_path, nested, token_count
from turnetl.llm.vectors import pack
from turnetl.model import Usage, Vector

BASE_URL = "https://api.openai.com/v1"
_AT_ONCE = 256
"""Texts of a request: a few hundred is what most servers take."""
_LONGEST = 8_000
"""Characters of a text that are read. Names and facts are never longer; beyond it some providers
refuse the text, and others cut it without a word."""
_NOTHING = "-"
"""Stands for a text of nothing: providers refuse an empty one."""
_SEVERAL_LENGTHS = "text-embedding-3"
"""Models whose vectors may be asked for shorter; others refuse to be told a length."""
_SETTINGS = "TURNETL_EMBEDDER"


class OpenAiEmbedder:
    """Asks a server for embeddings. Waits for a busy one, as long as a model is waited for."""

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None,
        *,
        dimensions: int | None = None,
        timeouts: Timeouts | None = None,
        patience: RetryPolicy | None = None,
        meter: Meter | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._dimensions = dimensions
        self._timeouts = timeouts or Timeouts()
        self._patience = patience or RetryPolicy()
        self._meter = meter
        self._sleep = sleep
        self._endpoint = self._opened()
        self._learning = Lock()

    @property
    def name(self) -> str:
        return f"openai-compatible/{self._model}"

    @property
    def dimensions(self) -> int:
        """As was said; else the model is asked, once: the thread that wants to know waits."""
        with self._learning:
            if self._dimensions is None:
                with ThreadPoolExecutor(1) as thread:
                    thread.submit(asyncio.run, self._probe()).result()
        return self._dimensions or 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector a text, in order.

        Raises:
            ModelRefused: a person must act first: a key, credit, the model's name or its length.
            ModelBusy: no answer after some patience.
            BadTurn: a text that is not taken.
        """
        batches = (texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE))
        return [
            vector for batch in batches for vector in await self._patiently(self._endpoint, batch)
        ]

    async def close(self) -> None:
        await self._endpoint.close()

    def _opened(self) -> Endpoint:
        return Endpoint(
            f"embedder `{self.name}`",
            join_path(self._base_url, "/embeddings"),
            headers={"Authorization": f"Bearer {self._api_key}"} if self._api_key else {},
            api_key=self._api_key,
            settings=_SETTINGS,
            timeouts=self._timeouts,
        )

    async def _probe(self) -> None:
        """Learn the length by an endpoint of this loop's own."""
        endpoint = self._opened()
        try:
            await self._patiently(endpoint, ["length"])
        finally:
            await endpoint.close()

    async def _patiently(self, endpoint: Endpoint, texts: Sequence[str]) -> list[Vector]:
        body = self._body(texts)

        async def once() -> list[Vector]:
            return self._read(await self._counted(endpoint, body), len(texts))

        return await with_retries(once, self._patience, sleep=self._sleep)

    async def _counted(self, endpoint: Endpoint, body: dict[str, Any]) -> dict[str, Any]:
        began, tokens = time.perf_counter(), 0
        try:
            answered = await endpoint.ask(body)
            said = token_count(nested(answered, "usage", "prompt_tokens"))
            tokens = said or estimate_tokens(*body["input"])
            return answered
        finally:
            if self._meter is not None:
                usage = Usage(1, tokens, seconds=time.perf_counter() - began)
                self._meter.add_embeddings(self.name, usage)

    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "input": [text[:_LONGEST] if text.strip() else _NOTHING for text in texts],
            "encoding_format": "float",
        }
        if self._dimensions is not None and _SEVERAL_LENGTHS in self._model:
            body["dimensions"] = self._dimensions
        return body

    def _read(self, answered: dict[str, Any], wanted: int) -> list[Vector]:
        rows = _rows(answered)
        if len(rows) != wanted:
            raise ModelBusy(f"embedder `{self.name}` gave {len(rows)} vectors for {wanted} texts")
        matrix = self._matrix(rows)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise ModelBusy(f"embedder `{self.name}` gave a vector without a direction")
        return [pack(row) for row in matrix / lengths]

    def _matrix(self, rows: list[Any]) -> NDArray[np.float64]:
        try:
            matrix = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            matrix = np.empty((0, 0, 0))
        if matrix.ndim != 2:  # noqa: PLR2004 - rows and columns
            raise ModelRefused(
                f"embedder `{self.name}` answered something that is no list of vectors; check "
                f"{_SETTINGS}__BASE_URL and {_SETTINGS}__MODEL"
            )
        given = matrix.shape[1]
        if self._dimensions not in (None, given):
            raise ModelRefused(
                f"embedder `{self.name}` gives vectors of {given} dimensions, not of "
                f"{self._dimensions}: set {_SETTINGS}__DIMENSIONS to {given}, or to nothing"
            )
        self._dimensions = given
        return matrix


def _rows(answered: dict[str, Any]) -> list[Any]:
    """Return the vectors in the order of the texts, which is not promised to be theirs."""
    data = answered.get("data")
    entries = data if isinstance(data, list) else []
    places = [nested(entry, "index") for entry in entries]
    if all(isinstance(place, int) for place in places):
        entries = [entries[at] for at in np.argsort(places, kind="stable")]
    return [nested(entry, "embedding") for entry in entries]
