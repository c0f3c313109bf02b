"""Logs: the number of lines of each level, and the first different errors."""

import polars as pl

from turnetl.episodes.content import output_lines
from turnetl.episodes.content.base import TEXT, ContentType, join_lines, matching_lines

_PREFIX = r"(?m)^(?:[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[\])]? *)?[ -~\t]{0,24}?(?-u:\b)"
_LEVELS = {
    "debug": "(?:DEBUG|TRACE|debug)",
    "info": "(?:INFO|NOTICE|info)",
    "warnings": "(?:WARN(?:ING)?|warn)",
    "errors": "(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|error|fatal)",
}
_LEVEL = "(?:" + "|".join(_LEVELS.values()) + ")"
_LOG_LINE = (
    r"(?m)^(?:[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[ -~\t]{0,40}?(?-u:\b)|\[|time=[ -~]{0,60}?level=)"
    + _LEVEL
)
_MIN_LINES = 4
_MAX_ERRORS = 5
_TIME = r"^[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[\])]? *"


def _is_log() -> pl.Expr:
    """Return whether most lines have a level near their start, after a time or in brackets."""
    lines = TEXT.str.count_matches(_LOG_LINE)
    return (lines >= _MIN_LINES) & (lines * 2 >= TEXT.str.count_matches("\n", literal=True))


def _condensed() -> pl.Expr:
    counts = [
        pl.when((count := TEXT.str.count_matches(rf"{_PREFIX}{level}(?-u:\b)")) > 0)
        .then(pl.format("{} {}", count, pl.lit(name)))
        .otherwise(pl.lit(""))
        for name, level in _LEVELS.items()
    ]
    levels = pl.concat_list(counts).list.eval(pl.element().filter(pl.element() != ""))
    errors = matching_lines(TEXT, rf"{_PREFIX}{_LEVELS['errors']}(?-u:\b)[^\n]*").list.eval(
        pl.element().str.replace(_TIME, "")
    )
    different = errors.list.unique(maintain_order=True).list.head(_MAX_ERRORS)
    totals = matching_lines(TEXT, output_lines.whole_line(output_lines.TOTAL)).list.tail(2)
    summary = pl.concat_list("log: " + levels.list.join(", "))
    return join_lines(summary.list.concat(different).list.concat(totals))


LOGS = ContentType("logs", _is_log(), _condensed())
