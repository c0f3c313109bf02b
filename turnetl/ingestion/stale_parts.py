"""Which parts of its recipe make a committed turn stale: recorded and today's, by name."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from turnetl.base.recipe_parts import RecipePart, RecipeParts, recipe_digest
from turnetl.base.results import described

WHOLE_RECIPE = "recipe"
"""Stands for all parts of a recipe whose parts are not recorded."""


@dataclass(frozen=True, slots=True)
class StalePart:
    """A part of a recipe that is not as it was when turns were committed."""

    part: Annotated[
        str, described("Name of the part; `recipe` if the parts of the old one are not known.")
    ]
    old: RecipePart | None
    new: RecipePart | None
    turns: Annotated[int, described("Stale turns; a turn may be counted for several parts.")]

    @property
    def old_value(
        self,
    ) -> Annotated[
        str | None, described("Its value in the receipts; null if it had none.", name="old")
    ]:
        return self.old.value if self.old else None

    @property
    def new_value(
        self,
    ) -> Annotated[str | None, described("Its value today; null if it has none.", name="new")]:
        return self.new.value if self.new else None

    @property
    def name(
        self,
    ) -> Annotated[str, described("Name of the template today; empty for other parts.")]:
        named = self.new or self.old
        return named.name if named else ""


def stale_parts(
    stale: Mapping[tuple[str, str], int],
    recorded: Mapping[str, RecipeParts],
    today: Callable[[str], RecipeParts],
) -> tuple[StalePart, ...]:
    """Return the parts that differ, by name; a turn may be counted for several.

    Args:
        stale: number of turns by kind and recorded recipe, which is not that of today.
        recorded: the parts of these recipes as far as they are known, by digest.
        today: returns the recipe of a kind.
    """
    turns: Counter[tuple[str, RecipePart | None, RecipePart | None]] = Counter()
    for (kind, digest), count in stale.items():
        old, new = recorded.get(digest), today(kind)
        if old is None:
            whole = RecipePart(digest), RecipePart(recipe_digest(new))
            turns[WHOLE_RECIPE, *whole] += count
            continue
        for part in old.keys() | new.keys():
            if _value(old, part) != _value(new, part):
                turns[part, old.get(part), new.get(part)] += count
    parts = (StalePart(*changed, count) for changed, count in turns.items())
    return tuple(sorted(parts, key=lambda part: (part.part, -part.turns, str(part))))


def _value(parts: RecipeParts, name: str) -> str | None:
    part = parts.get(name)
    return None if part is None else part.value
