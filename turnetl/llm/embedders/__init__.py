"""Embedders: built in, models that run on this machine, over HTTP; and a cache around any.

Names are imported on first use: the port alone needs no tokenizer.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.llm.embedders.port import CachedEmbedder
    from turnetl.llm.embedders.registry import BUILT_IN, EMBEDDERS, REMOTE, open_embedder
    from turnetl.llm.embedders.static_model import WordLlamaEmbedder

__all__ = [
    "BUILT_IN",
    "EMBEDDERS",
    "REMOTE",
    "CachedEmbedder",
    "WordLlamaEmbedder",
    "open_embedder",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "turnetl.llm.embedders.port": ("CachedEmbedder",),
        "turnetl.llm.embedders.registry": ("BUILT_IN", "EMBEDDERS", "REMOTE", "open_embedder"),
        "turnetl.llm.embedders.static_model": ("WordLlamaEmbedder",),
    },
)
