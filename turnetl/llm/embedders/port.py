"""The seams to models: texts in, vectors out."""

from collections.abc import Sequence
from typing import Protocol

from turnetl.model import Vector


class Embedder(Protocol):
    """Texts to vectors of unit length."""

    @property
    def name(self) -> str:
        """Package or provider, model and version: what the group's profile records."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector a text, in order."""
        ...

    async def close(self) -> None:
        """Let go of connections. Safe to repeat."""
