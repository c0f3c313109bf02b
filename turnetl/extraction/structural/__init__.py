"""What an archive says by structure, without a model."""

from turnetl.extraction.structural.extractor import StructuralExtractor

__all__ = ["StructuralExtractor"]
