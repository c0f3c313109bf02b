"""The LLM extractor: extraction runs ahead of the group, resolution needs it.

Both send their requests through Graphiti's building blocks. A run without new turns needs only the
recipe: all else is imported on first use.
"""

from typing import TYPE_CHECKING

from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.lazy_exports import lazy_exports
from turnetl.extraction.config import PromptConfig
from turnetl.extraction.ontology import Ontology

if TYPE_CHECKING:
    from turnetl.extraction.llm.extractor import ExtractedChunk, ExtractedTurn, LlmExtractor

__getattr__ = lazy_exports(__name__)

_VERSION = "5"
"""Version of the rules in this package and in `stoplist` that process responses."""
_COMPACT_VERSION = "2"
"""Version of the compact prompts and of what fits relations to signatures; turns without
instructions are sent with Graphiti's own prompts."""
_GRAPHITI = "0.31.1"
"""The version of Graphiti since which its prompts and its decisions are the same. A later version
makes turns stale only if it changes them: a test compares its source."""


def llm_recipe(
    model: str, parameters: str, prompts: PromptConfig, ontology: Ontology
) -> RecipeParts:
    """Return everything that decides what is extracted from a turn.

    `parameters` are the model parameters of every request that are not part of the request.
    """
    rules = f"{_VERSION}, compact {_COMPACT_VERSION}" if prompts.is_compact else _VERSION
    return {
        "model": RecipePart(model),
        "effort": RecipePart(parameters),
        "model rules": RecipePart(f"{rules}, Graphiti {_GRAPHITI}"),
        "ontology": RecipePart(ontology.digest),
        **prompts.recipe_parts,
    }
