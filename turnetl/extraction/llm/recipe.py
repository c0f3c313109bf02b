"""The recipe of the LLM extractor. A run without new turns imports this, and not Graphiti."""

from functools import cache
from importlib.metadata import version

from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.extraction.config import PromptConfig
from turnetl.extraction.ontology import Ontology

_VERSION = "5"
"""Version of the rules in this package and in `stoplist` that process responses."""


_COMPACT_VERSION = "1"
"""Version of the compact prompts; turns without instructions are sent with Graphiti's own."""


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
        "model rules": RecipePart(f"{rules}, Graphiti {_graphiti_version()}"),
        "ontology": RecipePart(ontology.digest),
        **prompts.recipe_parts,
    }


@cache
def _graphiti_version() -> str:
    return version("graphiti-core")
