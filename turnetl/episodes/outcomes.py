"""Of the outcome of a call, what matters.

A tool that reads shows its outcome to the model: that it was called is enough. A command ends in
some state: of its output the lines about failures and totals are kept. What failed says so.
"""

import polars as pl

from turnetl.episodes import clean

_LINE = 160
"""Characters of a line that are kept."""
_FAILURES, _TOTALS, _ERRORS = 5, 2, 5
"""Lines that are kept: of failures and totals in what ran, of errors in what failed."""
_REPORT = 400
"""Characters of prose that are kept: what a subagent found."""
_SHORT = 100
"""Characters of a single line that is kept as it is."""

_RUNS = r"(?i)bash|shell|exec|terminal|run_|test"
_REPORTS = ["Task", "Agent", "WebSearch"]
_SHOWS = (
    r"^(?:cd [^&]*&& )?"
    r"(?:cat|head|tail|sed|grep|rg|ls|find|jq|wc|tree|git (?:diff|show|log|blame))\b"
)
_REJECTED = r"(?s)^The user doesn't want to (?:proceed|take this action).*"
_LAUNCHED = "Async agent launched"
_ERROR = (
    r"(?im)^.*(?:error|exception|fail(?:ed|ure|s|:)|fatal|panic|denied|refused|not found|no such"
    r"|undefined|cannot|can't|unable|traceback|timed? ?out|conflict|exit code [1-9]).*$"
)
_FAILURE = (
    r"(?m)^.*(?:\bFAIL(?:ED|URE)?\b|\b[Ee]rror:|\bERROR\b|[a-z]Error\b|[a-z]Exception\b|panic:|fatal:"
    r"|Traceback|CONFLICT|\bdenied\b|\b[1-9][0-9]* (?:failed|errors?)\b).*$"
)
_TOTAL = (
    r"(?m)^.*(?:\b[0-9]+ (?:passed|failed|skipped|tests?|errors?|warnings?|problems?|issues"
    r"|files? changed|insertions?|deletions?|packages?|commits?)\b|^(?:ok|PASS)\b"
    r"|^\[[^\]\n]+ [0-9a-f]{7,}\]).*$"
)


def shortened(calls: pl.DataFrame) -> pl.Series:
    """Return ` -> ...` or nothing for each call.

    Args:
        calls: columns `name`, `input`, `outcome`, `is_error`; one row a call.
    """
    failed, runs = pl.col("is_error"), pl.col("name").str.contains(_RUNS)
    reports = pl.col("name").is_in(_REPORTS)
    rows = calls.select("name", "input", "outcome", "is_error").with_row_index("call")
    # Each kind apart: a pattern costs what it reads, and most outcomes are not to be read at all.
    told = (
        rows.filter(failed).with_columns(_clean()).with_columns(_error()),
        rows.filter(~failed & runs).with_columns(_clean()).with_columns(_ran()),
        rows.filter(~failed & ~runs & reports).with_columns(_clean()).with_columns(_report()),
    )
    matters = pl.concat(told).filter(pl.col("outcome") != "").select("call", came="outcome")
    joined = rows.select("call").join(matters, on="call", how="left", maintain_order="left")
    return joined.select((" -> " + pl.col("came")).fill_null("").alias("came"))["came"]


def _clean() -> pl.Expr:
    return clean.output(pl.col("outcome")).str.replace(_REJECTED, "rejected by the person")


def _error() -> pl.Expr:
    outcome = pl.col("outcome")
    first = clean.cut(outcome.str.extract(r"([^\n]+)").fill_null(""), _LINE)
    found = _joined(_lines(outcome, _ERROR).list.head(_ERRORS))
    error = pl.when(found == "").then(first).otherwise(found)
    return (pl.lit("failed: ") + error).alias("outcome")


def _ran() -> pl.Expr:
    outcome = pl.col("outcome")
    short = (outcome.str.len_chars() <= _SHORT) & ~outcome.str.contains("\n", literal=True)
    shows = pl.col("input").str.contains(_SHOWS)
    failures = _lines(outcome, _FAILURE).list.head(_FAILURES)
    totals = _lines(outcome, _TOTAL).list.tail(_TOTALS)
    found = pl.when(shows).then(pl.lit("")).otherwise(_joined(failures.list.concat(totals)))
    return pl.when(short).then(outcome).otherwise(found).alias("outcome")


def _report() -> pl.Expr:
    prose = clean.cut(pl.col("outcome").str.replace_all(r"\s+", " "), _REPORT)
    started = pl.col("outcome").str.starts_with(_LAUNCHED)
    return pl.when(started).then(pl.lit("")).otherwise(prose).alias("outcome")


def _lines(outcome: pl.Expr, pattern: str) -> pl.Expr:
    """Return the lines that match, each once and cut."""
    line = clean.cut(pl.element().str.replace_all(r"\s+", " ").str.strip_chars(), _LINE)
    return outcome.str.extract_all(pattern).list.eval(line).list.unique(maintain_order=True)


def _joined(found: pl.Expr) -> pl.Expr:
    return found.list.unique(maintain_order=True).list.join("; ")
