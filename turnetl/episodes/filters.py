"""What a person decides about the filter."""

from dataclasses import dataclass

from turnetl.noise import EMPTY, RULES, Rule


@dataclass(frozen=True, slots=True)
class Filters:
    """Which turns are noise, and what a text leaves out. The default is what turnetl brings."""

    rules: tuple[Rule, ...] = RULES
    """In the order in which they name a turn."""
    patterns: tuple[str, ...] = ()
    """Regular expressions (Rust's, as polars has them): what they match of the agent's words and of
    what tools gave back is left out. The person's own words are always whole."""
    by_hand: bool = False
    """Said for this run on the command line, not by the settings: the next ingest takes the tables
    as they are, and the next filter or backfill without such words makes them anew."""

    @property
    def on(self) -> frozenset[str]:
        """The names of all rules that mark, also of the one that speaks of texts."""
        return frozenset({*(rule.name for rule in self.rules), EMPTY.name})
