"""Logs: how many lines of each level, and the first errors that differ."""

import polars as pl

from turnetl.episodes.content import output_lines
from turnetl.episodes.content.base import TEXT, ContentType, join_lines
from turnetl.episodes.content.base import matching_lines as lines_of

_BEFORE = r"(?m)^(?:[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[\])]? *)?[ -~\t]{0,24}?(?-u:\b)"
_LEVELS = {
    "debug": "(?:DEBUG|TRACE|debug)",
    "info": "(?:INFO|NOTICE|info)",
    "warnings": "(?:WARN(?:ING)?|warn)",
    "errors": "(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|error|fatal)",
}
_LEVEL = "(?:" + "|".join(_LEVELS.values()) + ")"
_TIMED = (
    r"(?m)^(?:[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[ -~\t]{0,40}?(?-u:\b)|\[|time=[ -~]{0,60}?level=)"
    + _LEVEL
)
_FEW = 4
_ERRORS = 5
_TIME = r"^[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[\])]? *"


def _is_log() -> pl.Expr:
    """Say whether most lines have a level near their beginning, a time before it or brackets."""
    levels = TEXT.str.count_matches(_TIMED)
    return (levels >= _FEW) & (levels * 2 >= TEXT.str.count_matches("\n", literal=True))


def _shortened() -> pl.Expr:
    counts = [
        pl.when((count := TEXT.str.count_matches(rf"{_BEFORE}{level}(?-u:\b)")) > 0)
        .then(pl.format("{} {}", count, pl.lit(name)))
        .otherwise(pl.lit(""))
        for name, level in _LEVELS.items()
    ]
    said = pl.concat_list(counts).list.eval(pl.element().filter(pl.element() != ""))
    errors = lines_of(TEXT, rf"{_BEFORE}{_LEVELS['errors']}(?-u:\b)[^\n]*").list.eval(
        pl.element().str.replace(_TIME, "")
    )
    first = errors.list.unique(maintain_order=True).list.head(_ERRORS)
    totals = lines_of(TEXT, output_lines.whole_line(output_lines.TOTAL)).list.tail(2)
    return join_lines(
        pl.concat_list("log: " + said.list.join(", ")).list.concat(first).list.concat(totals)
    )


LOGS = ContentType("logs", _is_log(), _shortened())
