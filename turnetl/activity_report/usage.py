"""The tokens that the agents used, as their archives record them; subagents included."""

import polars as pl

from turnetl.activity_report import limits
from turnetl.activity_report.model import AgentUsage, TokenCount, listed
from turnetl.activity_report.series import Period, activity
from turnetl.activity_report.subagents import SUBAGENTS
from turnetl.noise.rules import COPY

_UNKNOWN = "unknown"
_TOKENS = pl.col("input_tokens") + pl.col("output_tokens")


def agent_usage(turns: pl.DataFrame, subagents: pl.DataFrame) -> AgentUsage:
    """Return what the agents used. A copy of a turn was paid for once and is counted once.

    Args:
        turns: rows of `turns.ROWS`.
        subagents: rows of `subagents.SUBAGENTS`: of subagents that are in no turn.
    """
    originals = turns.filter(pl.col("noise").ne_missing(COPY.name))
    rows = pl.concat(
        [
            originals.select(*SUBAGENTS, turns=1, is_of_subagent=pl.col("agent_id").is_not_null()),
            subagents.select(*SUBAGENTS, turns=0, is_of_subagent=True),
        ]
    )
    return AgentUsage(
        total=next(iter(_by(rows, pl.lit("all"))), TokenCount("all", 0, 0, 0, 0)),
        by_model=listed(_by(rows, pl.col("model")), limits.MODELS),
        by_project=listed(_by(rows, pl.col("group_id")), limits.PROJECTS),
        by_format=tuple(_by(rows, pl.col("format"))),
        by_day=activity(rows, "model", _TOKENS, period=Period.DAY, limit=limits.CHART_DAYS),
    )


def _by(rows: pl.DataFrame, name: pl.Expr) -> list[TokenCount]:
    """Return the tokens by a name, most tokens first."""
    sums = (
        rows.group_by(name.fill_null(_UNKNOWN).alias("name"))
        .agg(
            pl.col("turns").sum(),
            pl.col("input_tokens").sum(),
            pl.col("output_tokens").sum(),
            _TOKENS.filter("is_of_subagent").sum().alias("subagent_tokens"),
            _TOKENS.sum().alias("tokens"),
        )
        .sort(["tokens", "turns", "name"], descending=[True, True, False])
        .drop("tokens")
    )
    return [TokenCount(**row) for row in sums.iter_rows(named=True)]
