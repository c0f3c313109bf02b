"""Turns in, the same turns out with the name of the rule that speaks against each."""

from collections.abc import Sequence

import polars as pl

from turnetl.noise.rules import RULES, Rule


def mark(turns: pl.LazyFrame, rules: Sequence[Rule] = RULES) -> pl.LazyFrame:
    """Return all rows, in their order, with `noise`: the first rule that matches, or null.

    Args:
        turns: rows with the columns of `schema.TURNS`, of one group, each turn once, in the order
            of the episodes table.
        rules: in the order in which they name a turn.
    """
    named = [pl.when(rule.when).then(pl.lit(rule.name)) for rule in rules]
    return turns.with_columns(pl.coalesce(*named, pl.lit(None, pl.String)).alias("noise"))


def versions(rules: Sequence[Rule] = RULES) -> tuple[str, ...]:
    """Return what decides the marks: each rule with its version, in order."""
    return tuple(f"{rule.name}/{rule.version}" for rule in rules)
