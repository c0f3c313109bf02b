"""Calls of tools, one line each: what was done, and of its outcome what matters.

A tool that reads shows its outcome to the model, not to us: that it was called is enough. A tool
that runs something ends in some state; of its output the lines about errors, failures and totals
are kept. A tool that failed says so in its first words.
"""

import polars as pl

from turnetl.episodes import clean

_CALL = 200
"""Characters of a call that are kept."""
_LINE = 160
"""Characters of a line of an outcome that are kept."""
_LINES, _ERROR_LINES = 2, 3
_REPORT = 400
"""Characters of an outcome that is prose: what a subagent found."""
_WHOLE = 100
"""Characters of an outcome that is kept as it is: one short line."""

_RUNS = ["Bash", "shell", "exec_command", "run_shell_command", "bash", "local_shell", "KillShell"]
_RUNS_TOO = r"(?i)bash|shell|exec|terminal|run_command|test"
_REPORTS = ["Task", "Agent", "WebSearch"]
_ERROR_LINE = (
    r"(?im)^.*(?:error|exception|fail(?:ed|ure|s|:)|fatal|panic|denied|refused|not found|no such"
    r"|undefined|cannot|can't|unable|traceback|timed? ?out|conflict|exit code [1-9]).*$"
)
_TOTAL_LINE = (
    r"(?im)^.*(?:\b\d+ (?:passed|failed|skipped|tests?|errors?|warnings?|problems?|files? changed"
    r"|insertions?|deletions?|packages?|commits?)\b|^(?:ok|PASS|FAIL)\b|^--- FAIL|^\[[^\]\s]+"
    r" [0-9a-f]{7,}\]|\b(?:error|exception|failed|failure|fatal|panic|denied)\b).*$"
)


def lines(turns: pl.DataFrame) -> pl.Series:
    """Return `calls`, one list a turn: its calls in order, each line once."""
    rows = turns.select(pl.col("cwd"), pl.col("tools")).with_row_index()
    calls = rows.explode("tools").drop_nulls("tools").unnest("tools")
    done = _shortened(clean.output(pl.col("outcome")))
    line = pl.concat_str(
        pl.col("name").str.replace(r"^mcp__.*__", ""), pl.lit(" "), _call(), done
    ).str.strip_chars()
    each = calls.select("index", line.alias("line"))
    grouped = each.group_by("index").agg(pl.col("line").unique(maintain_order=True).alias("calls"))
    joined = rows.select("index").join(grouped, on="index", how="left", maintain_order="left")
    none = pl.lit([], dtype=pl.List(pl.String))
    return joined.select(pl.coalesce("calls", none).alias("calls"))["calls"]


def _call() -> pl.Expr:
    """Return the call without the folder that the turn stands in."""
    here = pl.col("cwd").fill_null("")
    call = clean.output(pl.col("input")).str.replace_all(r"\s+", " ")
    call = call.str.strip_prefix("cd " + here).str.strip_prefix(" && ")
    call = call.str.strip_prefix(here).str.strip_prefix("/")
    inside = pl.when(here != "").then(call).otherwise(clean.output(pl.col("input")))
    return _cut(inside, _CALL)


def _shortened(outcome: pl.Expr) -> pl.Expr:
    runs = pl.col("name").is_in(_RUNS) | pl.col("name").str.contains(_RUNS_TOO)
    failed = " -> failed: " + _or_first(_matching(outcome, _ERROR_LINE, _ERROR_LINES), outcome)
    short = (outcome.str.len_chars() <= _WHOLE) & ~outcome.str.contains("\n", literal=True)
    ran = pl.when(short).then(outcome).otherwise(_matching(outcome, _TOTAL_LINE, _LINES))
    reported = _cut(outcome.str.replace_all(r"\s+", " "), _REPORT)
    return (
        pl.when(pl.col("is_error"))
        .then(failed)
        .when(runs & (ran != ""))
        .then(" -> " + ran)
        .when(pl.col("name").is_in(_REPORTS) & (reported != ""))
        .then(" -> " + reported)
        .otherwise(pl.lit(""))
    )


def _matching(outcome: pl.Expr, pattern: str, count: int) -> pl.Expr:
    """Return the first lines that match, each once and cut, behind each other."""
    found = outcome.str.extract_all(pattern).list.eval(_cut(pl.element().str.strip_chars(), _LINE))
    return found.list.unique(maintain_order=True).list.head(count).list.join("; ")


def _or_first(found: pl.Expr, outcome: pl.Expr) -> pl.Expr:
    first = _cut(outcome.str.extract(r"([^\n]+)").fill_null(""), _LINE)
    return pl.when(found == "").then(first).otherwise(found)


def _cut(text: pl.Expr, room: int) -> pl.Expr:
    longer = text.str.len_chars() > room
    return pl.when(longer).then(text.str.head(room) + "...").otherwise(text)
