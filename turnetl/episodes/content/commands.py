"""What a program wrote: of a command that ran, failures and totals; of a call that failed, why."""

import polars as pl

from turnetl.episodes.content import lines
from turnetl.episodes.content.base import FAILED, ROLE, TEXT, Kind, cut, joined, on_one_line, tidy
from turnetl.episodes.content.base import lines as lines_of

_FAILURES, _FIRST, _LAST, _ERRORS = 8, 2, 5, 6
"""Lines that are kept: failures, the first and the last of what came of it, errors."""
_SHORT, _FEW = 240, 4
"""Characters and line breaks of an outcome that is kept whole."""
_REPORT, _OTHER = 1500, 300
"""Characters of prose and of anything else that are kept."""
_REJECTED = "The user doesn't want to "
_REFUSED = "rejected by the person"
_FAILED, _ENDED = lines.whole(lines.FAILURE), lines.whole(lines.TOTAL)
_SAYS_LITTLE = r"\(cached\)|no test files|^[^a-z]{0,40}(?:INFO|DEBUG|TRACE)(?-u:\b)"


def _ran() -> pl.Expr:
    return pl.coalesce(_matter(), _ends())


def _why() -> pl.Expr:
    weak = joined(lines_of(TEXT, lines.whole(lines.ERROR)).list.head(_ERRORS))
    return pl.coalesce(_matter(), weak.replace("", None), tidy(_first()))


def _matter() -> pl.Expr:
    """Return failures, then the totals that a list of them begins and ends with; null if none."""
    told = pl.element().filter(~pl.element().str.contains(_SAYS_LITTLE))
    failures, totals = (lines_of(TEXT, part).list.eval(told) for part in (_FAILED, _ENDED))
    ends = totals.list.head(_FIRST).list.concat(totals.list.tail(_LAST))
    return joined(failures.list.head(_FAILURES).list.concat(ends)).replace("", None)


def _first() -> pl.Expr:
    return TEXT.str.extract(r"([^\n]*[^ \t\n][^\n]*)").fill_null("")


def _ends() -> pl.Expr:
    """Return the first and the last line, where nothing else tells what came of a command."""
    last = TEXT.str.extract(r"([^\n]+)\s*\z").fill_null("")
    return joined(pl.concat_list(_first(), last))


REFUSED = Kind("refused", FAILED & TEXT.str.starts_with(_REJECTED), pl.lit(_REFUSED))
"""A call that the person did not allow; why stands among the person's words."""

SHORT = Kind(
    "short",
    (TEXT.str.len_chars() <= _SHORT) & (TEXT.str.count_matches("\n", literal=True) <= _FEW),
    on_one_line(TEXT),
)
"""What is short is kept whole, whatever it is."""

ERRORS = Kind("errors", FAILED, _why())
"""A call that failed."""

COMMANDS = Kind("commands", ROLE == "runs", _ran())
"""A command that ended well, or says in its output only that it did not."""

REPORTS = Kind(
    "reports", ~FAILED & (ROLE == "reports"), cut(TEXT.str.replace_all(r"\s+", " "), _REPORT)
)
"""What a subagent found, or a page says."""

OTHERS = Kind("others", pl.lit(value=True), cut(TEXT.str.replace_all(r"\s+", " "), _OTHER))
"""What no other kind takes."""
