"""The recipe of the LLM extractor. A run without new turns imports this, and not Graphiti."""

from functools import cache
from importlib.metadata import version

from turnetl import ids
from turnetl.extraction.ontology import Ontology
from turnetl.extraction.prompt_config import PromptConfig

_VERSION = "5"
"""Version of the rules in this package and in `stoplist` that process responses."""


def llm_recipe(model: str, parameters: str, prompts: PromptConfig, ontology: Ontology) -> str:
    """Return the digest of everything that decides what is extracted from a turn.

    Args:
        model: name of the model.
        parameters: the model parameters of every request that are not part of the request.
        prompts: the instructions for the turn.
        ontology: entity types and relations to extract.
    """
    return ids.digest(
        "llm", _VERSION, _graphiti_version(), model, parameters, prompts.digest, ontology.digest
    )


@cache
def _graphiti_version() -> str:
    return version("graphiti-core")
