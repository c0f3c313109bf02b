"""What a tool only showed to the model: that it was called is enough."""

import polars as pl

from turnetl.episodes.content import lines
from turnetl.episodes.content.base import FAILED, ROLE, TEXT, Kind, joined, on_one_line, tidy
from turnetl.episodes.content.base import lines as lines_of

_SHORT, _LOOKED_THROUGH = 120, 400
"""Characters of an answer to a question (a count, a version, that there is none), and of one in
which a failure would be seen."""
_NOTHING = r"No such file|[Nn]ot found|[Dd]enied|^fatal:|[Ee]xit [Cc]ode: [1-9]"
_CREATED = r"^(?:File created|Created|Successfully created)|\nA [^ ]"
_USUAL = r"^(?:The file |Edit applied|Success\. Updated|Wrote file|\s*$)"
_SHOWS = ~FAILED & ROLE.is_in(["reads", "looks"])


def _written() -> pl.Expr:
    """Return that a file is new; what else a tool says of its work in a short line."""
    first = TEXT.str.extract(r"\A([^\n]*)").fill_null("")
    said = pl.when(TEXT.str.contains(_USUAL)).then(pl.lit("")).otherwise(tidy(first, _SHORT))
    return pl.when(TEXT.str.contains(_CREATED)).then(pl.lit("created")).otherwise(said)


def _shown() -> pl.Expr:
    failures = joined(lines_of(TEXT, lines.whole(_NOTHING)))
    told = pl.when(TEXT.str.len_chars() > _SHORT).then(failures).otherwise(on_one_line(TEXT))
    return pl.when(UNREAD).then(pl.lit("")).otherwise(told)


UNREAD = _SHOWS & ((ROLE == "reads") | (TEXT.str.len_chars() > _LOOKED_THROUGH))
"""Texts of which nothing is kept, so that nothing needs to read them."""

SHOWN = Kind("shown", _SHOWS, _shown())
"""Files and listings; a short answer of a search or a command is kept."""

WRITTEN = Kind("written", ~FAILED & (ROLE == "edits"), _written())
"""That a file was changed; what was changed stands in the call."""
