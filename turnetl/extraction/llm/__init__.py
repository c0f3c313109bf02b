"""The LLM extractor: extraction runs ahead of the group, resolution needs it.

Both send their requests through Graphiti's building blocks. A run without new turns needs only the
recipe: all else is imported on first use.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.lazy_exports import lazy_exports
from turnetl.extraction.config import PromptConfig, PromptStyle
from turnetl.extraction.ontology import Ontology

if TYPE_CHECKING:
    from turnetl.extraction.llm.extractor import ExtractedChunk, ExtractedTurn, LlmExtractor

__getattr__ = lazy_exports(__name__)

_VERSION = "5"
"""Version of the rules in this package and in `stoplist` that process responses."""
_STYLES: Mapping[PromptStyle, str] = {
    "graphiti": "",
    "compact": ", compact 2",
    "short": ", short 1",
}
"""Versions of turnetl's own prompts and of what fits relations to signatures."""
_GRAPHITI = "0.31.1"
"""The version of Graphiti since which its prompts and its decisions are the same. A later version
makes turns stale only if it changes them: a test compares its source."""


def llm_recipe(
    model: str, parameters: str, prompts: PromptConfig, ontology: Ontology
) -> RecipeParts:
    """Return everything that decides what is extracted from a turn.

    `parameters` are the model parameters of every request that are not part of the request.
    """
    return {
        "model": RecipePart(model),
        "effort": RecipePart(parameters),
        "model rules": RecipePart(f"{_VERSION}{_STYLES[prompts.style]}, Graphiti {_GRAPHITI}"),
        "ontology": RecipePart(ontology.digest),
        **prompts.recipe_parts,
    }
