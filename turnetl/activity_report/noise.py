"""The turns that noise rules mark, with examples."""

from collections.abc import Mapping

import polars as pl

from turnetl.activity_report import limits
from turnetl.activity_report.model import NoiseOfRule, ReportedTurn
from turnetl.activity_report.turns import reported


def noise_counts(rows: pl.DataFrame, descriptions: Mapping[str, str]) -> tuple[NoiseOfRule, ...]:
    """Return the noise by rule, the rule of most turns first.

    Args:
        rows: rows of `turns.ROWS`, oldest first.
        descriptions: of the rules, by name; a rule that no longer exists has none.
    """
    marked = rows.filter(pl.col("noise").is_not_null())
    counts = marked["noise"].value_counts().sort(["count", "noise"], descending=[True, False])
    return tuple(
        NoiseOfRule(rule, descriptions.get(rule, ""), turns, _examples(marked, rule))
        for rule, turns in counts.iter_rows()
    )


def _examples(marked: pl.DataFrame, rule: str) -> tuple[ReportedTurn, ...]:
    """Return the newest turns of a rule with different prompts."""
    of_rule = marked.filter(pl.col("noise") == rule).reverse()
    different = of_rule.unique("prompt", keep="first", maintain_order=True)
    rows = different.head(limits.NOISE_EXAMPLES).iter_rows(named=True)
    return tuple(map(reported, rows))
