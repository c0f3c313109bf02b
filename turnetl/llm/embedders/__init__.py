"""Embedders: one that works offline, one over HTTP, and a cache around either."""

from turnetl.llm.embedders.cached import CachedEmbedder
from turnetl.llm.embedders.registry import EMBEDDERS, open_embedder
from turnetl.llm.embedders.wordllama import WordLlamaEmbedder

__all__ = ["EMBEDDERS", "CachedEmbedder", "WordLlamaEmbedder", "open_embedder"]
