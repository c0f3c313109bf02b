"""The LLM extractor: extraction runs ahead of the group, resolution needs it.

Both send their requests through Graphiti's building blocks.
"""

from turnetl.extraction.llm.extractor import ExtractedChunk, ExtractedTurn, LlmExtractor

__all__ = ["ExtractedChunk", "ExtractedTurn", "LlmExtractor"]
