"""Calls of tools, one line each: what was done, and behind an arrow what came of it."""

from collections.abc import Sequence

import polars as pl

from turnetl.episodes import text_cleaning, tool_results, tool_roles

_HEAD, _TAIL = 400, 100
"""Characters of a call that are kept: a long command does its last step behind a long text."""
_CAME = 3
"""Outcomes of the same call that are kept: the first ones and the last."""
_STRING = r'":"((?:[^"\\]|\\.)*)"'


def call_lines(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `calls`, one list a turn: its calls in order, each once with all that came of it.

    Args:
        turns: columns `tool_calls` and `here`, the folder that the turn stands in.
        patterns: what they match of calls and outcomes is left out.
    """
    rows = turns.select("here", "tool_calls").with_row_index()
    calls = rows.explode("tool_calls").drop_nulls("tool_calls").unnest("tool_calls")
    asked = calls.filter(~pl.col("name").is_in(tool_roles.BOOKKEEPING)).with_columns(
        text_cleaning.remove_patterns(pl.col("input", "result"), patterns)
    )
    # One step after the other: what an expression uses twice, it works out twice.
    told = text_cleaning.clean_inputs(asked).with_columns(tool_roles.role())
    came = _said(told).with_columns(tool_results.condense_results(told))
    each = came.group_by("index", "said", maintain_order=True).agg(_outcomes())
    line = pl.concat_str(
        "said", pl.when(pl.col("came") != "").then(" -> " + pl.col("came")), ignore_nulls=True
    )
    grouped = _as_one(each).group_by("index", maintain_order=True).agg(line.alias("calls"))
    joined = rows.select("index").join(grouped, on="index", how="left", maintain_order="left")
    none = pl.lit([], dtype=pl.List(pl.String))
    return joined.select(pl.coalesce("calls", none).alias("calls"))["calls"]


def _outcomes() -> pl.Expr:
    return pl.col("came").unique(maintain_order=True)


def _as_one(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `came` as one text: what came of each, one time after the other."""
    came = pl.col("came")
    again = came.list.len() > 1
    told = came.list.eval(pl.element().replace("", "done"))
    ends = told.list.head(_CAME - 1).list.concat(told.list.tail(1))
    few = pl.when(came.list.len() > _CAME).then(ends).otherwise(told)
    return text_cleaning.apply_where(
        calls, again, came.list.first(), few.list.join(", then ").alias("came")
    )


def _said(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `said`: name and call, paths as seen from the turn's folder."""
    call = pl.col("input")
    in_json = call.str.contains(r"^[{\[]")
    readable = text_cleaning.apply_where(
        calls, in_json, _from_here(call), _in_words().alias("input")
    )
    name = pl.col("name").str.replace(r"^mcp__.*__", "")
    tidy = _without_middle(call.str.replace_all(r"[ \t\n]{2,}|[\t\n]", " "))
    return readable.with_columns(said=(name + " " + tidy).str.strip_chars_end())


def _without_middle(call: pl.Expr) -> pl.Expr:
    ends = call.str.head(_HEAD) + "..." + call.str.tail(_TAIL)
    return pl.when(call.str.len_chars() > _HEAD + _TAIL).then(ends).otherwise(call)


def _in_words() -> pl.Expr:
    """Return a call in JSON: a search as its words and place, others without JSON's escapes."""
    place = (" in " + _from_here(_field("path"))).fill_null("")
    where = place + (" of " + pl.coalesce(_field("glob"), _field("include"))).fill_null("")
    plain = pl.col("input").str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ")
    return pl.coalesce(_field("pattern") + where, plain.str.replace_all(r'\\"', '"'))


def _field(name: str) -> pl.Expr:
    """Return a text of a call in JSON, or null."""
    found = pl.col("input").str.extract(rf'^\{{(?:.*[,{{])?"{name}{_STRING}')
    return found.str.replace_all(r'\\(["\\/])', "$1")


def _from_here(call: pl.Expr) -> pl.Expr:
    """Return a path or a command without the folder that the turn stands in."""
    here = pl.col("here")
    inside = call.str.strip_prefix("cd " + here + " && ").str.strip_prefix(here + "/")
    return pl.when(here == "").then(call).otherwise(inside)
