"""Calls of tools, one line each: what was done, and behind an arrow what came of it."""

from collections.abc import Sequence

import polars as pl

from turnetl.episodes import clean, outcomes

_ROOM = 300
"""Characters of a call that are kept."""
_BOOKKEEPING = ["TodoWrite", "TodoRead", "TaskUpdate", "TaskList", "TaskGet", "update_plan"]
"""Lists that an agent keeps for itself: what it did stands in the other calls."""
_STRING = r'":"((?:[^"\\]|\\.)*)"'


def lines(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `calls`, one list a turn: its calls in order, each line once."""
    rows = turns.select("cwd", "tools").with_row_index()
    calls = rows.explode("tools").drop_nulls("tools").unnest("tools")
    told = calls.filter(~pl.col("name").is_in(_BOOKKEEPING)).with_columns(
        clean.without(pl.col("input", "outcome"), patterns)
    )
    came = outcomes.shortened(told)
    # One step after the other: what an expression uses twice, it works out twice.
    named = told.with_columns(came, pl.col("name").str.replace(r"^mcp__.*__", ""), _plain())
    parted = named.with_columns(_field("pattern"), _field("path"))
    line = pl.concat_str(pl.col("name"), pl.lit(" "), clean.cut(_call(), _ROOM), pl.col("came"))
    told = parted.with_columns(line.alias("calls"))
    grouped = told.group_by("index").agg(pl.col("calls").unique(maintain_order=True))
    joined = rows.select("index").join(grouped, on="index", how="left", maintain_order="left")
    none = pl.lit([], dtype=pl.List(pl.String))
    return joined.select(pl.coalesce("calls", none).alias("calls"))["calls"]


def _plain() -> pl.Expr:
    return clean.words(pl.col("input")).str.replace_all(r"\s+", " ")


def _field(name: str) -> pl.Expr:
    """Return a text of a call in JSON, or null."""
    found = pl.col("input").str.extract(rf'^\{{(?:.*[,{{])?"{name}{_STRING}')
    return found.str.replace_all(r'\\(["\\/])', "$1").alias(name)


def _call() -> pl.Expr:
    """Return the call; a search as its words and place; a path as seen from the turn's folder."""
    where = (" in " + _from_here(pl.col("path"))).fill_null("")
    return pl.coalesce(pl.col("pattern") + where, _from_here(pl.col("input")))


def _from_here(call: pl.Expr) -> pl.Expr:
    """Return a path or a command without the folder that the turn stands in."""
    here = pl.col("cwd").fill_null("").str.strip_chars_end("/")
    inside = call.str.strip_prefix("cd " + here + " && ").str.strip_prefix(here + "/")
    return pl.when(here == "").then(call).otherwise(inside)
