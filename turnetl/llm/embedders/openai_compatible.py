"""Embeddings of OpenAI and of the many servers with a compatible API."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnetl.base.batched import batched
from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.base.model import Usage, Vector
from turnetl.base.text import estimate_tokens
from turnetl.llm.error_responses import join_path, nested_value, token_count
from turnetl.llm.http import Endpoint, Timeouts
from turnetl.llm.meter import Meter
from turnetl.llm.retry import RetryPolicy, Sleep, with_retries
from turnetl.llm.vectors import pack

BASE_URL = "https://api.openai.com/v1"
_BATCH_SIZE = 256
"""Texts per request: most servers accept a few hundred."""
_MAX_CHARACTERS = 8_000
"""Characters of a text that are sent. Names and facts are never longer; some providers reject a
longer text, others truncate it silently."""
_EMPTY = "-"
"""Sent for an empty text: providers reject those."""
_VARIABLE_DIMENSIONS = "text-embedding-3"
"""Models whose number of dimensions can be chosen; others reject the parameter."""
_ENV_PREFIX = "TURNETL_EMBEDDER"


class OpenAiEmbedder:
    """Requests embeddings from a server. Retries like a language model."""

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None,
        *,
        dimensions: int | None = None,
        timeouts: Timeouts | None = None,
        retry_policy: RetryPolicy | None = None,
        meter: Meter | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._dimensions = dimensions
        self._timeouts = timeouts or Timeouts()
        self._retry_policy = retry_policy or RetryPolicy()
        self._meter = meter
        self._sleep = sleep
        self._endpoint = self._open_endpoint()
        self._probing = Lock()

    @property
    def name(self) -> str:
        return f"openai-compatible/{self._model}"

    @property
    def dimensions(self) -> int:
        """The configured number, else the number of a vector requested once; blocks until then."""
        with self._probing:
            if self._dimensions is None:
                with ThreadPoolExecutor(1) as thread:
                    thread.submit(asyncio.run, self._detect_dimensions()).result()
        return self._dimensions or 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order; raises what `ChatModel.complete` raises."""
        return [
            vector
            for batch in batched(texts, _BATCH_SIZE)
            for vector in await self._embed_batch(self._endpoint, batch)
        ]

    async def close(self) -> None:
        await self._endpoint.close()

    def _open_endpoint(self) -> Endpoint:
        return Endpoint(
            f"embedder `{self.name}`",
            join_path(self._base_url, "/embeddings"),
            headers={"Authorization": f"Bearer {self._api_key}"} if self._api_key else {},
            api_key=self._api_key,
            env_prefix=_ENV_PREFIX,
            timeouts=self._timeouts,
        )

    async def _detect_dimensions(self) -> None:
        """Learn the number of dimensions, over an endpoint of this event loop."""
        endpoint = self._open_endpoint()
        try:
            await self._embed_batch(endpoint, ["length"])
        finally:
            await endpoint.close()

    async def _embed_batch(self, endpoint: Endpoint, texts: Sequence[str]) -> list[Vector]:
        body = self._body(texts)

        async def attempt() -> list[Vector]:
            return self._vectors(await self._post(endpoint, body), len(texts))

        return await with_retries(attempt, self._retry_policy, sleep=self._sleep)

    async def _post(self, endpoint: Endpoint, body: dict[str, Any]) -> dict[str, Any]:
        started, tokens = time.perf_counter(), 0
        try:
            response = await endpoint.post(body)
            reported = token_count(response, "usage", "prompt_tokens")
            tokens = reported or estimate_tokens(*body["input"])
            return response
        finally:
            if self._meter is not None:
                usage = Usage(1, tokens, seconds=time.perf_counter() - started)
                self._meter.add_embeddings(self.name, usage)

    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "input": [text[:_MAX_CHARACTERS] if text.strip() else _EMPTY for text in texts],
            "encoding_format": "float",
        }
        if self._dimensions is not None and _VARIABLE_DIMENSIONS in self._model:
            body["dimensions"] = self._dimensions
        return body

    def _vectors(self, response: dict[str, Any], count: int) -> list[Vector]:
        rows = _rows(response)
        if len(rows) != count:
            raise ModelBusy(
                f"embedder `{self.name}` returned {len(rows)} vectors for {count} texts"
            )
        matrix = self._matrix(rows)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise ModelBusy(f"embedder `{self.name}` returned a vector of length zero or infinity")
        return [pack(row) for row in matrix / lengths]

    def _matrix(self, rows: list[Any]) -> NDArray[np.float64]:
        try:
            matrix = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            matrix = np.empty((0, 0, 0))
        if matrix.ndim != 2:  # noqa: PLR2004 - rows and columns
            raise ModelUnusable(
                f"embedder `{self.name}` did not return a list of vectors; check "
                f"{_ENV_PREFIX}__BASE_URL and {_ENV_PREFIX}__MODEL"
            )
        dimensions = matrix.shape[1]
        if self._dimensions not in (None, dimensions):
            raise ModelUnusable(
                f"embedder `{self.name}` returns vectors of {dimensions} dimensions instead of "
                f"{self._dimensions}: set {_ENV_PREFIX}__DIMENSIONS to {dimensions}, or unset it"
            )
        self._dimensions = dimensions
        return matrix


def _rows(response: dict[str, Any]) -> list[Any]:
    """Return the vectors in the order of the texts; servers may return them in another order."""
    data = response.get("data")
    entries = data if isinstance(data, list) else []
    indexes = [nested_value(entry, "index") for entry in entries]
    if all(isinstance(index, int) for index in indexes):
        entries = [entries[position] for position in np.argsort(indexes, kind="stable")]
    return [nested_value(entry, "embedding") for entry in entries]
