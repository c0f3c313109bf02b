"""What an episodes table is made with: the user's choices, kinds of turns, versions of the code.

A table of other versions is built again. A run that finds all tables current imports this, and none
of the modules that it is about.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from turnetl.base.model import GroupId
from turnetl.noise import EMPTY, RULES, NoiseRule

ALL_GROUPS = GroupId("")
"""Key in `Filters.overrides` for every group that has no entry of its own."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which turns are noise, and what is removed from a text. The defaults are turnetl's own."""

    rules: tuple[NoiseRule, ...] = RULES
    """The active rules by precedence: the first that matches gives the turn its rule name."""
    patterns: tuple[str, ...] = ()
    """Regular expressions (Rust syntax, as in polars). What they match is removed from the agent's
    text, from tool calls and from tool results; never from what the user typed."""
    overrides: Mapping[tuple[GroupId, str], tuple[str, ...]] = field(default_factory=dict)
    """Patterns for turns of a group and kind, where they differ from `patterns`. An override for a
    group must cover all kinds; `ALL_GROUPS` applies to the other groups."""
    one_off: bool = False
    """Whether the filters come from the command line for this run, not from the settings. The next
    ingest uses the tables unchanged; the next filter or backfill without such options rebuilds
    them."""

    def patterns_for(self, group: GroupId, kind: str) -> tuple[str, ...]:
        default = self.overrides.get((ALL_GROUPS, kind), self.patterns)
        return self.overrides.get((group, kind), default)

    def recipe(self, group: GroupId) -> Iterator[str]:
        """Yield everything here that determines the texts of a group, for a digest."""
        yield "patterns"
        yield from self.patterns
        for kind in KINDS:
            if (patterns := self.patterns_for(group, kind)) != self.patterns:
                yield from (f"patterns of {kind}", *patterns)

    @property
    def active_rules(self) -> frozenset[str]:
        """The names of all rules that mark turns, including `EMPTY`, which reads texts."""
        return frozenset({*(rule.name for rule in self.rules), EMPTY.name})


ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY = "error_heavy", "code_heavy", "tool_heavy"
CONVERSATIONAL, ORDINARY = "conversational", "ordinary"
KINDS = (ERROR_HEAVY, CODE_HEAVY, TOOL_HEAVY, CONVERSATIONAL, ORDINARY)

DEDUP_VERSION = 1
"""Version of the rules in `order` that decide which rows are one turn, and which are closed."""
TEXT_VERSION = 8
"""Version of the texts. Raise it with every change that alters a text, in `text` or in a module
that it calls."""
CHUNK_LIMIT = 6000
"""Maximum size of a chunk, in estimated tokens."""
CHUNKING_VERSION = 3
"""Version of the column `chunks`; raise it with every change of `chunking` that moves a split
position, and of what the column lists."""
CLASSIFICATION_VERSION = 1
"""Raise it with every change of the results of `classify`."""
