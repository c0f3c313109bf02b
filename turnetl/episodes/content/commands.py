"""What a program wrote: of a command that ran, failures and totals; of a call that failed, why."""

import polars as pl

from turnetl.episodes.content import lines
from turnetl.episodes.content.base import FAILED, ROLE, TEXT, Kind, cut, joined, on_one_line, tidy
from turnetl.episodes.content.base import lines as lines_of

_FAILURES, _TOTALS, _ERRORS = 6, 4, 6
"""Lines that are kept."""
_SHORT, _FEW = 240, 4
"""Characters and line breaks of an outcome that is kept whole."""
_REJECTED = "The user doesn't want to "
_MATTERS = lines.whole(f"{lines.FAILURE}|{lines.TOTAL}")
_REFUSED = "rejected by the person"


def _ran() -> pl.Expr:
    found = lines_of(TEXT, _MATTERS)
    failed = pl.element().str.contains(f"(?m){lines.FAILURE}")
    failures = found.list.eval(pl.element().filter(failed)).list.head(_FAILURES)
    totals = found.list.eval(pl.element().filter(~failed)).list.tail(_TOTALS)
    matter = failures.list.concat(totals)
    return pl.when(matter.list.len() > 0).then(joined(matter)).otherwise(_ends())


def _why() -> pl.Expr:
    found = lines_of(TEXT, lines.whole(lines.ERROR)).list.head(_ERRORS)
    return pl.when(found.list.len() > 0).then(joined(found)).otherwise(tidy(_first()))


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
    "reports", ~FAILED & (ROLE == "reports"), cut(TEXT.str.replace_all(r"\s+", " "), 800)
)
"""What a subagent found, or a page says."""

OTHERS = Kind("others", pl.lit(value=True), cut(TEXT.str.replace_all(r"\s+", " "), 300))
"""What no other kind takes."""
