"""What a rule is."""

from dataclasses import dataclass

import polars as pl

from turnetl import ids


@dataclass(frozen=True, eq=False)
class NoiseRule:
    """One kind of noise. A changed expression needs a higher version: tables are made anew."""

    name: str
    version: int
    why: str
    """One sentence, for a person."""
    condition: pl.Expr
    """True or False for each turn, never null. Reads columns of `schema.TURNS` and of `shape`."""
    on_by_default: bool = True
    """False: it marks only if a person asks for it."""
    definition: str = ""
    """Of a person's own rule what it says, as text; there it stands for the version."""

    @property
    def recipe(self) -> str:
        """All that decides what the rule marks, as one word."""
        of = ids.digest(self.definition)[:12] if self.definition else str(self.version)
        return f"{self.name}/{of}"
