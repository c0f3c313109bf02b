"""Mark turns: the same rows, with the name of the rule that marks each."""

from collections.abc import Sequence

import polars as pl

from turnetl.base import schema
from turnetl.noise import features
from turnetl.noise.rule import NoiseRule
from turnetl.noise.rules import RULES


def mark(turns: pl.LazyFrame, rules: Sequence[NoiseRule] = RULES) -> pl.LazyFrame:
    """Return all rows, in their order, with `noise`: the first rule that matches, or null.

    Args:
        turns: rows of one group with at least the columns of `required_columns`, each turn once, in
            the order of the episodes table.
        rules: by precedence.
    """
    names = [pl.when(rule.condition).then(pl.lit(rule.name)) for rule in rules]
    noise = pl.coalesce(*names, pl.lit(None, pl.String)).alias("noise")
    return features.add_features(turns).with_columns(noise).drop(features.NAMES)


def recipes(rules: Sequence[NoiseRule] = RULES) -> tuple[str, ...]:
    """Return everything that determines the marks: the recipe of each rule, in order."""
    return tuple(rule.recipe for rule in rules)


def required_columns(rules: Sequence[NoiseRule] = RULES) -> tuple[str, ...]:
    """Return the columns of `schema.TURNS` that `mark` reads, in the table's order.

    Built-in rules read only the names in `tool_calls`, and the number of entries in other lists.
    """
    names = {name for rule in rules for name in rule.condition.meta.root_names()}
    sources = features.source_columns([*names, *features.NAMES])
    return tuple(name for name in schema.TURNS.polars.names() if name in sources)
