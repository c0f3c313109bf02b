"""Embeddings of many texts as one matrix."""

import asyncio
from collections.abc import Sequence

import numpy as np

from turnetl.base.model import Vector
from turnetl.llm.embedders import Embedder
from turnetl.llm.vectors import Matrix, stack

_BATCH = 1_000
"""Texts in a batch of the embedder; other tasks run between two batches."""


async def embedded(texts: Sequence[str], embedder: Embedder) -> Matrix:
    """Return a row per text, in their order; each distinct text is embedded once."""
    distinct = sorted({*texts})
    rows = {text: row for row, text in enumerate(distinct)}
    vectors: list[Vector] = []
    for start in range(0, len(distinct), _BATCH):
        vectors += await embedder.embed(distinct[start : start + _BATCH])
        await asyncio.sleep(0)
    if not vectors:
        return np.zeros((0, embedder.dimensions), dtype=np.float32)
    return stack(vectors)[[rows[text] for text in texts]]
