"""The LLM extractor: extraction runs ahead of the group, resolution needs it.

Both send their requests through Graphiti's building blocks. Names are imported on first use: a run
without new turns needs only the recipe.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.extraction.llm.extractor import ExtractedChunk, ExtractedTurn, LlmExtractor

__all__ = ["ExtractedChunk", "ExtractedTurn", "LlmExtractor"]

__getattr__ = lazy_exports(
    __name__,
    {"turnetl.extraction.llm.extractor": ("ExtractedChunk", "ExtractedTurn", "LlmExtractor")},
)
