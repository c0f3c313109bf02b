"""The named parts of a recipe: everything that decides what is extracted from a turn."""

from collections.abc import Mapping
from dataclasses import dataclass

from turnetl.base import ids


@dataclass(frozen=True, slots=True)
class RecipePart:
    """One part of a recipe."""

    value: str
    """A version, a name or a digest: another value is another recipe."""
    name: str = ""
    """For people, such as the name of a template; not part of the digest."""


RecipeParts = Mapping[str, RecipePart]
"""By the name of the part: rules, model, effort, template, reflexion, ontology."""


def recipe_digest(parts: RecipeParts) -> str:
    """Return the digest of a recipe, which receipts record."""
    words = (word for name in sorted(parts) for word in (name, parts[name].value))
    return ids.digest("recipe", *words)
