"""Embedders: built in, models that run on this machine, over HTTP; and a cache around any."""

from turnetl.llm.embedders.cached import CachedEmbedder
from turnetl.llm.embedders.registry import BUILT_IN, EMBEDDERS, REMOTE, open_embedder
from turnetl.llm.embedders.wordllama import WordLlamaEmbedder

__all__ = [
    "BUILT_IN",
    "EMBEDDERS",
    "REMOTE",
    "CachedEmbedder",
    "WordLlamaEmbedder",
    "open_embedder",
]
