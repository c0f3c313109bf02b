"""The port of embedders: texts in, vectors out."""

from collections.abc import Sequence
from typing import Protocol

from turnetl.base.model import Vector


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
