"""Render tool calls, one line each: tool name and input, and after an arrow the result."""

from collections.abc import Sequence

import polars as pl

from turnetl.episodes import text_cleaning, tool_results, tool_roles
from turnetl.noise.history_calls import HISTORY_CALL

_HEAD, _TAIL = 400, 100
"""Characters kept of a long call: the last step of a long command comes after a long text."""
_MAX_RESULTS = 3
"""Results kept of the same call: the first ones and the last."""
_STRING = r'":"((?:[^"\\]|\\.)*)"'


def call_lines(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `calls`, one list per turn: its calls in order, each once with all its results.

    Args:
        turns: columns `tool_calls` and `cwd`.
        patterns: regular expressions; what they match of calls and results is removed.
    """
    rows = turns.select("cwd", "tool_calls").with_row_index()
    calls = rows.explode("tool_calls").drop_nulls("tool_calls").unnest("tool_calls")
    # What turnetl itself answered was said in other turns, and at other times.
    is_aside = pl.col("name").is_in(tool_roles.BOOKKEEPING_TOOLS) | pl.col("name").str.contains(
        HISTORY_CALL
    )
    relevant = calls.filter(~is_aside).with_columns(
        text_cleaning.remove_patterns(pl.col("input", "result"), patterns)
    )
    # In steps, because polars evaluates an expression at each use.
    cleaned = text_cleaning.clean_inputs(relevant).with_columns(tool_roles.role())
    condensed = _with_call(cleaned).with_columns(tool_results.condense_results(cleaned))
    distinct = condensed.group_by("index", "call", maintain_order=True).agg(
        pl.col("result").unique(maintain_order=True)
    )
    arrow = pl.when(pl.col("result") != "").then(" -> " + pl.col("result"))
    line = pl.concat_str("call", arrow, ignore_nulls=True)
    lines = _with_joined_results(distinct).group_by("index", maintain_order=True)
    joined = rows.select("index").join(
        lines.agg(line.alias("calls")), on="index", how="left", maintain_order="left"
    )
    none = pl.lit([], dtype=pl.List(pl.String))
    return joined.select(pl.coalesce("calls", none).alias("calls"))["calls"]


def _with_joined_results(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `result`, a list of the results in order, as one text."""
    result = pl.col("result")
    results = result.list.eval(pl.element().replace("", "done"))
    ends = results.list.head(_MAX_RESULTS - 1).list.concat(results.list.tail(1))
    kept = pl.when(result.list.len() > _MAX_RESULTS).then(ends).otherwise(results)
    joined = kept.list.join(", then ").alias("result")
    return text_cleaning.apply_where(calls, result.list.len() > 1, joined, result.list.first())


def _with_call(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `call`: tool name and input, with paths relative to `cwd`."""
    call = pl.col("input")
    is_json = call.str.contains(r"^[{\[]")
    readable = text_cleaning.apply_where(
        calls, is_json, _from_json().alias("input"), _relative(call)
    )
    name = pl.col("name").str.replace(r"^mcp__.*__", "")
    one_line = _without_middle(call.str.replace_all(r"[ \t\n]{2,}|[\t\n]", " "))
    return readable.with_columns(call=(name + " " + one_line).str.strip_chars_end())


def _without_middle(call: pl.Expr) -> pl.Expr:
    ends = call.str.head(_HEAD) + "..." + call.str.tail(_TAIL)
    return pl.when(call.str.len_chars() > _HEAD + _TAIL).then(ends).otherwise(call)


def _from_json() -> pl.Expr:
    """Return a JSON input as text: a search as pattern and place, other input without escapes."""
    folder = (" in " + _relative(_json_field("path"))).fill_null("")
    files = (" of " + pl.coalesce(_json_field("glob"), _json_field("include"))).fill_null("")
    unescaped = pl.col("input").str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ")
    search = _json_field("pattern") + folder + files
    return pl.coalesce(search, unescaped.str.replace_all(r'\\"', '"'))


def _json_field(name: str) -> pl.Expr:
    """Return a string field of a JSON input, or null."""
    value = pl.col("input").str.extract(rf'^\{{(?:.*[,{{])?"{name}{_STRING}')
    return value.str.replace_all(r'\\(["\\/])', "$1")


def _relative(call: pl.Expr) -> pl.Expr:
    """Return a path or a command without the turn's working directory."""
    cwd = pl.col("cwd")
    relative = call.str.strip_prefix("cd " + cwd + " && ").str.strip_prefix(cwd + "/")
    return pl.when(cwd == "").then(call).otherwise(relative)
