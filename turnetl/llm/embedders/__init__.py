"""Embedders: one that works offline, one behind HTTP, and what remembers for either."""

from turnetl.llm.embedders.cached import CachedEmbedder
from turnetl.llm.embedders.local import WordLlamaEmbedder
from turnetl.llm.embedders.registry import EMBEDDERS, open_embedder

__all__ = ["EMBEDDERS", "CachedEmbedder", "WordLlamaEmbedder", "open_embedder"]
