"""What a turn says, as a language model reads it: `reading` runs ahead, `matching` needs the group.

Both ask through Graphiti's building blocks.
"""

from turnetl.extraction.llm.extractor import Extracted, LlmExtractor, Part
from turnetl.extraction.llm.resolve import Gate

__all__ = ["Extracted", "Gate", "LlmExtractor", "Part"]
