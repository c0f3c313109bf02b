"""The definition of a noise rule."""

from dataclasses import dataclass

import polars as pl

from turnetl.base import ids


@dataclass(frozen=True, eq=False)
class NoiseRule:
    """One kind of noise. A changed condition needs a higher version, which rebuilds the tables."""

    name: str
    version: int
    description: str
    """One sentence that tells the user what the rule marks, and why."""
    condition: pl.Expr
    """Whether the rule marks a turn; never null. Reads columns of `schema.TURNS` and `features`."""
    enabled_by_default: bool = True
    """False: the rule marks turns only on request."""
    definition: str = ""
    """The content of a user's own rule, as text; it replaces the version in `recipe`. Empty for
    built-in rules."""

    @property
    def recipe(self) -> str:
        """Everything that determines what the rule marks, as one word."""
        revision = ids.digest(self.definition)[:12] if self.definition else str(self.version)
        return f"{self.name}/{revision}"
