"""What a program wrote: of a command that ran, failures and totals; of a call that failed, why."""

import polars as pl

from turnetl.episodes.content import output_lines
from turnetl.episodes.content.base import (
    FAILED,
    ROLE,
    TEXT,
    ContentType,
    flatten,
    join_lines,
    tidy_line,
    truncate,
)
from turnetl.episodes.content.base import matching_lines as lines_of

_FIRST, _LAST, _ERRORS = 5, 4, 3
"""Lines that are kept: the first and the last failures, and what may be the reason."""
_BEGIN, _END = 2, 5
"""Lines of totals that are kept."""
_SHORT, _FEW = 240, 4
"""Characters and line breaks of an outcome that is kept whole."""
_REPORT, _OTHER = 1500, 300
"""Characters of prose and of anything else that are kept."""
_REJECTED = "The user doesn't want to "
_LAUNCHED, _AGENT = "Async agent launched", r"agentId: ([0-9A-Za-z-]+)"
_REFUSED = "tool use rejected by the user"
_FAILED, _ENDED = (
    output_lines.whole_line(output_lines.FAILURE),
    output_lines.whole_line(output_lines.TOTAL),
)
_SAYS_LITTLE = r"\(cached\)|no test files|(?-u:\b)(?:INFO|DEBUG|TRACE)(?-u:\b)"


def _ran() -> pl.Expr:
    return pl.coalesce(_told(_failures(), _ends_of_totals()), _ends())


def _why() -> pl.Expr:
    weak = lines_of(TEXT, output_lines.whole_line(output_lines.ERROR_CAUSE)).list.head(_ERRORS)
    return pl.coalesce(_told(_failures(), weak, _ends_of_totals()), tidy_line(_first()))


def _failures() -> pl.Expr:
    return _ends_of(_lines(_FAILED), _FIRST, _LAST)


def _ends_of_totals() -> pl.Expr:
    """Return what a list of totals begins and ends with."""
    return _ends_of(_lines(_ENDED), _BEGIN, _END)


def _ends_of(found: pl.Expr, first: int, last: int) -> pl.Expr:
    """Return the first lines and the last ones; some twice where there are few."""
    # Taken at once: what an expression uses twice, it works out twice.
    places = [*range(first), *range(-last, 0)]
    return found.list.gather(places, null_on_oob=True)


def _lines(pattern: str) -> pl.Expr:
    told = pl.element().filter(~pl.element().str.contains(_SAYS_LITTLE))
    return lines_of(TEXT, pattern).list.eval(told)


def _told(*found: pl.Expr) -> pl.Expr:
    """Return the lines as one, or null if there are none."""
    return join_lines(pl.concat_list(*found)).replace("", None)


def _first() -> pl.Expr:
    return TEXT.str.strip_chars_start().str.extract(r"\A[^\n]*", 0).fill_null("")


def _ends() -> pl.Expr:
    """Return the first and the last line, where nothing else tells what came of a command."""
    last = TEXT.str.strip_chars_end().str.extract(r"[^\n]*\z", 0).fill_null("")
    return join_lines(pl.concat_list(_first(), last))


def _report() -> pl.Expr:
    """Return what was found; of an agent that works on there is nothing yet but its name."""
    prose = truncate(TEXT.str.replace_all(r"\s+", " "), _REPORT)
    name = pl.format("launched {}", TEXT.str.extract(_AGENT)).fill_null("")
    return pl.when(TEXT.str.starts_with(_LAUNCHED)).then(name).otherwise(prose)


REFUSED = ContentType("refused", FAILED & TEXT.str.starts_with(_REJECTED), pl.lit(_REFUSED))
"""A call that the person did not allow; why stands among the person's words."""

SHORT = ContentType(
    "short",
    (TEXT.str.len_chars() <= _SHORT) & (TEXT.str.count_matches("\n", literal=True) <= _FEW),
    flatten(TEXT),
)
"""What is short is kept whole, whatever it is."""

ERRORS = ContentType("errors", FAILED, _why())
"""A call that failed."""

COMMANDS = ContentType("commands", ROLE == "runs", _ran())
"""A command that ended well, or says in its output only that it did not."""

REPORTS = ContentType("reports", ~FAILED & (ROLE == "reports"), _report())
"""What a subagent found, or a page says."""

OTHERS = ContentType(
    "others", pl.lit(value=True), truncate(TEXT.str.replace_all(r"\s+", " "), _OTHER)
)
"""What no other kind takes."""
