"""Output of programs: failures and totals of a command, the reason of a call that failed."""

import polars as pl

from turnetl.episodes.content import output_lines
from turnetl.episodes.content.base import (
    FAILED,
    ROLE,
    TEXT,
    ContentType,
    flatten,
    join_lines,
    matching_lines,
    tidy_line,
    truncate,
)

_FIRST_FAILURES, _LAST_FAILURES, _CAUSES = 5, 4, 3
"""Lines kept: the first and the last failures, and possible causes."""
_FIRST_TOTALS, _LAST_TOTALS = 2, 5
"""Lines kept of totals."""
_SHORT_CHARS, _SHORT_BREAKS = 240, 4
"""Maximum characters and line breaks of a result that is kept whole."""
_REPORT_CHARS, _OTHER_CHARS = 1500, 300
"""Characters kept of a report, and of a result of no other type."""
_REJECTED = "The user doesn't want to "
_LAUNCHED, _AGENT = "Async agent launched", r"agentId: ([0-9A-Za-z-]+)"
_REJECTION = "tool use rejected by the user"
_FAILURE = output_lines.whole_line(output_lines.FAILURE)
_TOTAL = output_lines.whole_line(output_lines.TOTAL)
_CAUSE = output_lines.whole_line(output_lines.ERROR_CAUSE)
_UNINFORMATIVE = r"\(cached\)|no test files|(?-u:\b)(?:INFO|DEBUG|TRACE)(?-u:\b)"


def _command_output() -> pl.Expr:
    return pl.coalesce(_joined_or_null(_failures(), _totals()), _first_and_last_line())


def _failure_reason() -> pl.Expr:
    causes = matching_lines(TEXT, _CAUSE).list.head(_CAUSES)
    lines = _joined_or_null(_failures(), causes, _totals())
    return pl.coalesce(lines, tidy_line(_first_line()))


def _failures() -> pl.Expr:
    return _ends(_informative_lines(_FAILURE), _FIRST_FAILURES, _LAST_FAILURES)


def _totals() -> pl.Expr:
    return _ends(_informative_lines(_TOTAL), _FIRST_TOTALS, _LAST_TOTALS)


def _ends(lines: pl.Expr, first: int, last: int) -> pl.Expr:
    """Return the first and the last lines; some occur twice if there are few."""
    # One gather, because polars evaluates an expression at each use.
    indexes = [*range(first), *range(-last, 0)]
    return lines.list.gather(indexes, null_on_oob=True)


def _informative_lines(pattern: str) -> pl.Expr:
    informative = pl.element().filter(~pl.element().str.contains(_UNINFORMATIVE))
    return matching_lines(TEXT, pattern).list.eval(informative)


def _joined_or_null(*lines: pl.Expr) -> pl.Expr:
    return join_lines(pl.concat_list(*lines)).replace("", None)


def _first_line() -> pl.Expr:
    return TEXT.str.strip_chars_start().str.extract(r"\A[^\n]*", 0).fill_null("")


def _first_and_last_line() -> pl.Expr:
    """Return both, for a command whose output has neither failures nor totals."""
    last = TEXT.str.strip_chars_end().str.extract(r"[^\n]*\z", 0).fill_null("")
    return join_lines(pl.concat_list(_first_line(), last))


def _report() -> pl.Expr:
    """Return the findings; of an agent that still runs only its id."""
    prose = truncate(TEXT.str.replace_all(r"\s+", " "), _REPORT_CHARS)
    launched = pl.format("launched {}", TEXT.str.extract(_AGENT)).fill_null("")
    return pl.when(TEXT.str.starts_with(_LAUNCHED)).then(launched).otherwise(prose)


REJECTED = ContentType("rejected", FAILED & TEXT.str.starts_with(_REJECTED), pl.lit(_REJECTION))
"""A call that the user rejected; the reason is in what the user typed."""

SHORT = ContentType(
    "short",
    (TEXT.str.len_chars() <= _SHORT_CHARS)
    & (TEXT.str.count_matches("\n", literal=True) <= _SHORT_BREAKS),
    flatten(TEXT),
)
"""A short result is kept whole, regardless of its content."""

ERRORS = ContentType("errors", FAILED, _failure_reason())
"""A call that failed."""

COMMANDS = ContentType("commands", ROLE == "run", _command_output())
"""A command that succeeded, or that reports its failure only in its output."""

REPORTS = ContentType("reports", ~FAILED & (ROLE == "report"), _report())
"""The findings of a subagent, or a web page."""

OTHERS = ContentType(
    "others", pl.lit(value=True), truncate(TEXT.str.replace_all(r"\s+", " "), _OTHER_CHARS)
)
"""Results that no other type matches."""
