"""Reasons for pending and stale turns, and the parts of a recipe that make a turn stale."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from turnetl.base.ids import RecipePart, RecipeParts, recipe_digest
from turnetl.base.reason import Reason
from turnetl.base.results import described


class PendingReason(Reason):
    """Reason for a turn without a noise mark that is not in the graph."""

    OPEN = "open", "The turn is not closed: its session may still be active."
    NO_TIME = "no_time", "The archive records no time for the turn; set one with --assume-time."
    OUT_OF_RANGE = "out_of_range", "The turn started outside the range of --since and --until."
    OVER_LIMIT = "over_limit", "The turn is beyond the --limit of this run."
    READY = "ready", "The turn can be committed: run `turnetl ingest`."
    QUARANTINED = (
        "quarantined",
        "The turn failed and is quarantined; `turnetl retry` attempts it again.",
    )
    UNFILTERED = (
        "unfiltered",
        "Turns, rules or templates changed since the group was filtered: run `turnetl filter`.",
    )
    UNKNOWN = "unknown", "The graph did not respond, so the state of the turn is not known."


class StaleReason(Reason):
    """Reason for a committed turn that a run would commit differently today.

    The members are in order of precedence: a turn is stale for the first one that applies.
    """

    NOISE = "noise", "A noise rule matches the turn now."
    CONTENT_CHANGED = "content_changed", "The content of the turn changed in its archive."
    TEXT_CHANGED = "text_changed", "The episode text of the turn is rendered differently now."
    RECIPE_CHANGED = (
        "recipe_changed",
        "The extractor, a template, the ontology or the model changed.",
    )


WHOLE_RECIPE = "recipe"
"""Stands for all parts of a recipe whose parts are not recorded."""


@dataclass(frozen=True, slots=True)
class StalePart:
    """A part of a recipe that is not as it was when turns were committed."""

    part: Annotated[
        str, described("Name of the part; `recipe` if the parts of the old one are not known.")
    ]
    old: RecipePart | None
    """As in the receipts; None if they had none."""
    new: RecipePart | None
    """As it is today; None if there is none."""
    turns: Annotated[int, described("Stale turns; a turn may be counted for several parts.")]

    @property
    @described("Its value in the receipts; null if it had none.", name="old")
    def old_value(self) -> str | None:
        return self.old.value if self.old else None

    @property
    @described("Its value today; null if it has none.", name="new")
    def new_value(self) -> str | None:
        return self.new.value if self.new else None

    @property
    @described("Name of the template today; empty for other parts.")
    def name(self) -> str:
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
