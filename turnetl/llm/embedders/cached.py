"""An embedder that remembers, and asks for what is wanted together in one go."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from turnetl.llm.embedders.port import Embedder
from turnetl.model import Vector

_AT_ONCE = 256
"""Texts of a request."""


class CachedEmbedder:
    """One for the whole process. Every name and fact of a turn is embedded twice, and again later.

    A text that is being embedded for one is waited for by all who want it; what is asked for in the
    same turn of the event loop goes out together.
    """

    def __init__(self, embedder: Embedder, size: int = 20_000) -> None:
        """Wrap an embedder.

        Args:
            embedder: asked for what is not known.
            size: texts remembered, those that were wanted last; 1 kB each at 256 dimensions.
        """
        self._embedder = embedder
        self._size = size
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._awaited: dict[str, asyncio.Future[Vector]] = {}
        self._next: list[str] = []
        """Asked for together, at the end of this turn of the loop."""
        self._asking: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector a text, in order; raises what the embedder raises."""
        found = [self._find(text) for text in texts]
        # Shielded: that one who waits is cancelled must not take it from the others.
        return [
            await asyncio.shield(one) if isinstance(one, asyncio.Future) else one for one in found
        ]

    async def close(self) -> None:
        """Stop what is still asked for, and let go of the embedder. Safe to repeat."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self._embedder.close()

    def _find(self, text: str) -> Vector | asyncio.Future[Vector]:
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        if text not in self._awaited:
            loop = asyncio.get_running_loop()
            self._awaited[text] = loop.create_future()
            if not self._next:
                loop.call_soon(self._send)
            self._next.append(text)
        return self._awaited[text]

    def _send(self) -> None:
        texts, self._next = self._next, []
        for at in range(0, len(texts), _AT_ONCE):
            task = asyncio.create_task(self._ask(texts[at : at + _AT_ONCE]))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _ask(self, texts: list[str]) -> None:
        try:
            found = [*zip(texts, await self._embedder.embed(texts), strict=True)]
        except BaseException as error:
            self._fail(texts, error)
            if isinstance(error, Exception):
                return
            raise
        for text, vector in found:
            self._awaited.pop(text).set_result(vector)
            self._known[text] = vector
        while len(self._known) > self._size:
            self._known.popitem(last=False)

    def _fail(self, texts: list[str], error: BaseException) -> None:
        for text in texts:
            future = self._awaited.pop(text)
            if isinstance(error, Exception):
                future.set_exception(error)
                # Whoever wanted it may be gone.
                future.exception()
            else:
                future.cancel()
