"""The structural extractor: entities and facts from the structure of an archive, no model.

Its name is imported on first use: a run without new turns needs only the recipe.
"""

from typing import TYPE_CHECKING

from turnetl.base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from turnetl.extraction.structural.extractor import StructuralExtractor

__all__ = ["StructuralExtractor"]

__getattr__ = lazy_exports(
    __name__, {"turnetl.extraction.structural.extractor": ("StructuralExtractor",)}
)
