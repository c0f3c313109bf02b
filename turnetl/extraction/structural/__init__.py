"""The structural extractor: entities and facts from the structure of an archive, no model.

A run without new turns needs only the recipe: the extractor is imported on first use.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from turnetl.base import ids
from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.lazy_exports import lazy_exports
from turnetl.extraction.structural import decision_cues, lexicon

if TYPE_CHECKING:
    from turnetl.extraction.structural.extractor import StructuralExtractor

__getattr__ = lazy_exports(__name__)

_VERSION = "structural 14"
"""Increase it with every change of a rule that changes the output of turns that did not change."""
MAX_ENTITIES = 50
"""Entities of a turn."""
MAX_FACTS = 50
"""Facts of a turn."""


@cache
def structural_recipe() -> RecipeParts:
    """Return the one part of the recipe: the rules with their word lists."""
    words = {name: words for name, words in vars(lexicon).items() if name.isupper()}
    return {"structural rules": RecipePart(rules_digest(words | decision_cues.wordings()))}


def rules_digest(word_lists: Mapping[str, frozenset[str]]) -> str:
    words = (word for name in sorted(word_lists) for word in (name, *sorted(word_lists[name])))
    return ids.digest(_VERSION, str(MAX_ENTITIES), str(MAX_FACTS), *words)
