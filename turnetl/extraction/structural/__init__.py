"""The structural extractor: entities and facts from the structure of an archive, no model."""

from turnetl.extraction.structural.extractor import StructuralExtractor

__all__ = ["StructuralExtractor"]
