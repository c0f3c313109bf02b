"""What a tool only showed to the model: that it was called is enough."""

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
)
from turnetl.episodes.content.base import matching_lines as lines_of

_SHORT, _LOOKED_THROUGH = 120, 400
"""Characters of an answer to a question (a count, a version, that there is none), and of one in
which a failure would be seen."""
_NOTHING = r"No such file|[Nn]ot found|[Dd]enied|^fatal:|[Ee]xit [Cc]ode: [1-9]"
_AT = r"(?:[^ \t\n:]+:)?[0-9]+:"
_HIT = rf"(?m)^{_AT}[^\n]*|^[^ \t\n:]+/[^ \t\n:/]+\.[A-Za-z0-9]+$"
"""What a search found: `path:line:text`, `line:text` in a single file, or a path alone."""
_HITS, _FIRST = 5, 100
"""Hits that are told, and characters of the first, which is told with its text."""
_CREATED = r"^(?:File created|Created|Successfully created)|\nA [^ ]"
_USUAL = r"^(?:The file |Edit applied|Success\. Updated|Wrote file|\s*$)"
_SHOWS = ~FAILED & ROLE.is_in(["reads", "looks"])


def _written() -> pl.Expr:
    """Return that a file is new; what else a tool says of its work in a short line."""
    first = TEXT.str.extract(r"\A([^\n]*)").fill_null("")
    said = pl.when(TEXT.str.contains(_USUAL)).then(pl.lit("")).otherwise(tidy_line(first, _SHORT))
    return pl.when(TEXT.str.contains(_CREATED)).then(pl.lit("created")).otherwise(said)


def _shown() -> pl.Expr:
    return pl.when(DISCARDED).then(pl.lit("")).otherwise(flatten(TEXT))


def _found() -> pl.Expr:
    """Return what went wrong, where the text is too short for code; else what was found."""
    short = pl.when(TEXT.str.len_chars() <= _LOOKED_THROUGH).then(TEXT).otherwise(pl.lit(""))
    failures = join_lines(lines_of(short, output_lines.whole_line(_NOTHING)))
    return pl.coalesce(failures.replace("", None), _places())


def _places() -> pl.Expr:
    """Return what a search found: the first hit, and of others the file with its folder and line.

    What is found is what is worked on next; its text stands in the calls that do so.
    """
    found = TEXT.str.extract_all(_HIT).list.head(_HITS)
    place = pl.element().str.replace(rf"^({_AT}).*", "$1").str.strip_chars_end(":")
    others = found.list.slice(1).list.eval(place.str.replace(r"^.*/([^/]+/[^/]+)$", "$1"))
    return join_lines(found.list.head(1).list.concat(others), _FIRST)


DISCARDED = ~FAILED & (ROLE == "reads")
"""Texts of which nothing is kept, so that nothing needs to read them."""

DISPLAYED = ContentType("shown", _SHOWS & (DISCARDED | (TEXT.str.len_chars() <= _SHORT)), _shown())
"""Files and listings, of which nothing is kept; a short answer of a search or a command is."""

SEARCH_RESULT = ContentType("found", _SHOWS, _found())
"""What a search or a command that only shows has to say."""

FILE_CHANGE = ContentType("written", ~FAILED & (ROLE == "edits"), _written())
"""That a file was changed; what was changed stands in the call."""
