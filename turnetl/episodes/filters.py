"""What a person decides about the filter."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from turnetl.episodes.classify import KINDS
from turnetl.model import GroupId
from turnetl.noise import EMPTY, RULES, NoiseRule

ALL_GROUPS = GroupId("")
"""Stands for every group of which nothing is said."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which turns are noise, and what a text leaves out. The default is what turnetl brings."""

    rules: tuple[NoiseRule, ...] = RULES
    """In the order in which they name a turn."""
    patterns: tuple[str, ...] = ()
    """Regular expressions (Rust's, as polars has them): what they match of the agent's words and of
    what tools gave back is left out. The person's own words are always whole."""
    overrides: Mapping[tuple[GroupId, str], tuple[str, ...]] = field(default_factory=dict)
    """The patterns of turns of a group and kind, where they may be others than `patterns`. What is
    said of a group is said of all its kinds; `ALL_GROUPS` stands for the other groups."""
    one_off: bool = False
    """Said for this run on the command line, not by the settings: the next ingest takes the tables
    as they are, and the next filter or backfill without such words makes them anew."""

    def patterns_for(self, group: GroupId, kind: str) -> tuple[str, ...]:
        """Return what the text of a turn of that group and kind leaves out."""
        others = self.overrides.get((ALL_GROUPS, kind), self.patterns)
        return self.overrides.get((group, kind), others)

    def recipe(self, group: GroupId) -> Iterator[str]:
        """Yield what decides the texts of a group, for a digest."""
        yield "patterns"
        yield from self.patterns
        for kind in KINDS:
            if (patterns := self.patterns_for(group, kind)) != self.patterns:
                yield from (f"patterns of {kind}", *patterns)

    @property
    def active_rules(self) -> frozenset[str]:
        """The names of all rules that mark, also of the one that speaks of texts."""
        return frozenset({*(rule.name for rule in self.rules), EMPTY.name})
