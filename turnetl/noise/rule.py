"""The definition of a noise rule."""

from dataclasses import dataclass
from typing import Annotated

import polars as pl

from turnetl.base import ids
from turnetl.base.results import INLINED, described


@dataclass(frozen=True, eq=False)
class NoiseRule:
    """One kind of noise. A changed condition needs a higher version, which rebuilds the tables."""

    name: Annotated[str, described("Name of the rule.", name="rule")]
    version: int
    description: Annotated[str, described("What the rule marks and why, in one sentence.")]
    condition: pl.Expr
    """Whether the rule marks a turn; never null. Reads columns of `schema.TURNS` and `features`."""
    enabled_by_default: bool = True
    """False: the rule marks turns only on request."""
    definition: str = ""
    """The content of a user's own rule, as text; it replaces the version in `recipe`. Empty for
    built-in rules."""

    @property
    def revision(
        self,
    ) -> Annotated[
        str, described("Version of the rule; of a rule of your own a digest.", name="version")
    ]:
        return ids.digest(self.definition)[:12] if self.definition else str(self.version)

    @property
    def is_own(
        self,
    ) -> Annotated[bool, described("Whether it is a rule of your own.", name="user_defined")]:
        return bool(self.definition)

    @property
    def recipe(self) -> str:
        """Everything that determines what the rule marks, as one word."""
        return f"{self.name}/{self.revision}"


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A noise rule."""

    rule: Annotated[NoiseRule, INLINED]
    active: Annotated[bool, described("Whether it marks turns.")]


@dataclass(frozen=True, slots=True)
class RulesReport:
    """All noise rules."""

    rules: Annotated[
        tuple[ListedRule, ...],
        described("The rules, in the order in which the first match names a turn."),
    ]
